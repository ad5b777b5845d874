"""Dynamic requests: a share of a workload's requests goes to a program behind the server, and not to a file.

The program is a PHP page, as in the study of Lighttpd that the `support` workload comes from. The page lies
in the document root; a server that knows FastCGI hands requests for it to its PHP pool. It makes a text of
the size asked for, hashing as it goes, so that a page costs time in proportion to its size, and says its
length, because the load generator checks it.
"""

from typing import Annotated

from pydantic import Field

from trimtab_tuner.frozen import Frozen

PAGE_PATH = "/dynamic/page.php"
PAGE_SCRIPT = """<?php
// Makes a page of `size` bytes (8192 if not given), each 64 of them a SHA-256 of those before.
$size = max(1, min(1048576, (int)($_GET['size'] ?? 8192)));
$text = '';
$hash = 'trimtab';
while (strlen($text) < $size) {
    $hash = hash('sha256', $hash);
    $text .= $hash;
}
header('Content-Type: text/plain');
header('Content-Length: ' . $size);
echo substr($text, 0, $size);
"""


class Dynamic(Frozen):
    """The `[dynamic]` table of a definition: so many of the requests, each answered by `size_bytes`."""

    share: Annotated[float, Field(gt=0, lt=1)]
    size_bytes: Annotated[int, Field(ge=1, le=1 << 20)] = 8192

    @property
    def uri(self) -> str:
        """What such a request asks for."""
        return f"{PAGE_PATH}?size={self.size_bytes}"
