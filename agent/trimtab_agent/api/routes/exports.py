"""The configuration files a run hands back."""

import io
import zipfile
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from trimtab_tuner.exports import format_help, place_of

from trimtab_agent.api.context import ContextDep
from trimtab_agent.api.routes.runs import RunId
from trimtab_agent.api.schemas import Export
from trimtab_agent.results.export_diff import diffs, measured_differences
from trimtab_agent.results.exporting import content_of, next_steps, verdict

router = APIRouter(prefix="/runs/{run_id}/exports", tags=["exports"])

ZIP = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}

# Entries of an archive carry a time; the same files shall make the same archive.
EARLIEST = (1980, 1, 1, 0, 0, 0)


@router.get("")
def list_exports(run_id: RunId, context: ContextDep) -> list[Export]:
    """The best configuration in every format: text, the server's own check, diffs."""
    run = context.repository.run(run_id)
    replies = []
    exports = context.repository.exports(run_id)
    for export in sorted(exports, key=lambda export: place_of(export.format, run.target)):
        against_default, against_base = diffs(run, export)
        replies.append(
            Export(
                **vars(export),
                help=format_help(export.format, run.target),
                verdict=verdict(export, run),
                diff_default=against_default,
                diff_base=against_base,
                replaced=measured_differences(context.repository, run, export),
                steps=next_steps(run, export),
            )
        )
    return replies


@router.get("/zip", response_class=Response, responses={200: {"content": ZIP}})
def download_all(run_id: RunId, context: ContextDep) -> Response:
    """Every file in one archive."""
    run, exports = context.repository.run(run_id), context.repository.exports(run_id)
    if not exports:
        raise HTTPException(404)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for export in exports:
            entry = zipfile.ZipInfo(f"trimtab-run-{run_id}/{export.file_name}", EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if export.file_name.endswith(".sh") else 0o644) << 16
            writer.writestr(entry, content_of(run, export.text))
    disposition = f'attachment; filename="trimtab-run-{run_id}.zip"'
    return Response(
        archive.getvalue(), media_type="application/zip", headers={"Content-Disposition": disposition}
    )


@router.get("/{export_format}/download", response_class=PlainTextResponse)
def download_export(
    run_id: RunId, export_format: Annotated[str, Path(max_length=64)], context: ContextDep
) -> PlainTextResponse:
    """The file itself, to be saved under its own name."""
    for export in context.repository.exports(run_id):
        if export.format == export_format:
            disposition = f"attachment; filename*=UTF-8''{quote(export.file_name.rpartition('/')[2])}"
            content = content_of(context.repository.run(run_id), export.text)
            return PlainTextResponse(content, headers={"Content-Disposition": disposition})
    raise HTTPException(404)
