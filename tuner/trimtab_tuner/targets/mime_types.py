"""The content types that rendered files name: those of trimtab-httpd that static sites use most."""

MIME_TYPES = {
    "text/html": "html htm",
    "text/css": "css",
    "text/plain": "txt",
    "application/javascript": "js",
    "application/json": "json",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/svg+xml": "svg",
}
"""Type to the file name endings that have it, separated by spaces."""

DEFAULT_TYPE = "application/octet-stream"
