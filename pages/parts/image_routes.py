"""The route of images of other hosts, which the server fetches for the hosts that a study allows."""

from functools import cache

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from core.errors import TiebreakError
from pages.parts import account_guard, resources
from storage.accounts import access
from storage.accounts.access import Permission
from storage.accounts.registry import Actor, Identity
from storage.db import connections
from storage.studies import study_images
from storage.studies.study_images import RemoteImages

HEADERS = {"Cache-Control": "private, max-age=86400", "Content-Security-Policy": "default-src 'none'; sandbox"}


def routes() -> list[BaseRoute]:
    """Return the route."""
    return [Route(study_images.ROUTE, remote_image)]


@cache
def _images() -> RemoteImages:
    return RemoteImages()


async def remote_image(request: Request) -> Response:
    """Return an image whose address a study has signed; a sentence with status 404 if it cannot be shown."""
    study, address, mark = (request.query_params.get(name, "") for name in ("study", "url", "mark"))
    try:
        identity = account_guard.identity_of(request)
        if not await run_in_threadpool(_may_see, identity, study, address, mark):
            raise TiebreakError("There is no such image.")
        image = await _images().get(address)
    except TiebreakError as error:
        return JSONResponse({"error": "unknown", "message": str(error)}, 404, headers={"Cache-Control": "no-store"})
    return Response(image.content, media_type=image.type, headers=HEADERS)


def _may_see(identity: Identity, study: str, address: str, mark: str) -> bool:
    """Return whether a visitor may open the study, and the study has signed the address."""
    if not (study.isascii() and study.isdigit() and len(study) < 10):
        return False
    actor = identity.actor or Actor("")
    with connections.reading(resources.engine()) as session:
        return access.allows(session, int(study), actor, Permission.open) and study_images.is_signed(
            session, int(study), address, mark
        )
