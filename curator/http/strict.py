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
        except (NotJson, UnicodeDecodeError) as error:
            raise json.JSONDecodeError(str(error), "", 0) from None
        except ValueError:
            raise json.JSONDecodeError("a whole number has too many digits", "", 0) from None
        except RecursionError:
            raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


class StrictRoute(APIRoute):
    """A route that reads its JSON strictly."""

    def get_route_handler(self) -> Handler:
        """The handler, over a ``StrictRequest``."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


class NotJson(ValueError):
    """What Python would read and RFC 8259 does not have."""


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"{constant} is not JSON: send a finite number, or null for a missing value")
