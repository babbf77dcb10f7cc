"""HEAD for every call that has a GET: the same answer without its body."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadCalls:
    """ASGI middleware that lets the routes see a GET and drops what they would send."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self.app({**scope, "method": "GET"}, receive, send_head)
