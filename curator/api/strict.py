"""JSON as RFC 8259 has it: NaN and infinity are refused, although Python would read them."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose JSON body is read strictly."""

    async def json(self) -> Any:
        """The body; raises ``json.JSONDecodeError`` for anything that is not JSON."""
        body = await self.body()
        try:
            return json.loads(body, parse_constant=_refuse)
        except json.JSONDecodeError:
            raise
        except (UnicodeDecodeError, RecursionError, ValueError) as error:
            reason = str(error) or "it is nested too deeply"
            raise json.JSONDecodeError(reason, "", 0) from None


class StrictRoute(APIRoute):
    """A route that reads its JSON strictly."""

    def get_route_handler(self) -> Handler:
        """The handler, over a ``StrictRequest``."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON: send a finite number, or null for a missing value")
