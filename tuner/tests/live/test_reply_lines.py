"""Lines of the access logs by which servers of ours tell of their replies."""

import pytest
from trimtab_tuner.live.observed import SIZE_CLASSES, Replies, Served, Statuses
from trimtab_tuner.live.reply_lines import replies_of, replies_of_entries
from trimtab_tuner.targets.log_formats import FORMATS
from trimtab_tuner.workloads.access_log import LineParser

NGINX, APACHE, H2O = FORMATS["nginx"], FORMATS["apache"], FORMATS["h2o"]


def test_lines_are_counted_by_size_status_and_time():
    """A reply of 2 KB is in the second class."""
    replies = replies_of(
        b"200 2048 0.250 1 +\n304 240 0.000 1 +\n404 300 0.001 1 +\n503 300 0.002 1 +\n", NGINX
    )
    assert replies.served[0] == Served(3, 0.004)
    assert replies.served[1] == Served(1, 0.25)
    assert replies.statuses == Statuses(success=1, redirection=1, client_error=1, server_error=1)
    assert (replies.bytes_sent, replies.aborted) == (2888, 0)
    assert replies.service_times.slower_than(0.2) == 1


def test_time_is_read_in_the_unit_of_the_server():
    """Apache's microseconds."""
    assert replies_of(b"200 100 250000 0 +\n", APACHE).served[0] == Served(1, 0.25)


def test_time_below_the_resolution_of_the_clock_is_told_as_that():
    """nginx's clock has milliseconds: less than one looks like nothing, and could not be compared."""
    replies = replies_of(b"200 100 0.000 1 +\n", NGINX)
    assert replies.service_times.quantile_s(0.5) == pytest.approx(0.001, rel=0.11)
    assert replies.served[0] == Served(1, 0.001)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        (b"200 3937528 0.200 1 X\n", NGINX),
        (b"499 0 0.100 1 +\n", NGINX),
        (b"200 3919872 201822 0 X\n", APACHE),
        (b"200 3931901 - 1 +\n", H2O),
    ],
)
def test_reply_that_its_client_did_not_wait_for_is_aborted(line, form):
    """It is none of those that were served, and has no service time."""
    replies = replies_of(b"200 100 0 1 +?X=X\n" + line, form)
    assert (replies.aborted, sum(served.requests for served in replies.served)) == (1, 1)
    assert replies.service_times.replies == 1


def test_first_request_on_a_connection_is_of_another_class_than_later_ones():
    """Each is a connection; a query makes a request dynamic."""
    replies = replies_of(b"200 9 0.5 1 +\n200 9 0.1 2 +?a=b\n200 9 0.1 3 +\n", NGINX)
    assert (replies.served[0], replies.served[SIZE_CLASSES]) == (Served(1, 0.5), Served(2, 0.2))
    assert (replies.connections_accepted, replies.dynamic) == (1, 1)


def test_server_that_does_not_number_its_requests_tells_no_connections():
    """Of h2o all are in the classes of first ones."""
    replies = replies_of(b"200 9 0.5 1 +\n200 9 0.1 1 +\n", H2O)
    assert (replies.served[0].requests, replies.connections_accepted) == (2, None)


def test_connection_that_asked_for_nothing_is_no_request():
    """Apache tells of it when it gives up."""
    assert replies_of(b"408 0 60000000 0 -\n", APACHE) == Replies(connections_accepted=0, dynamic=0)


def test_no_line_is_no_reply():
    """A period without traffic."""
    assert replies_of(b"", NGINX) == Replies(connections_accepted=0, dynamic=0)


@pytest.mark.parametrize(
    "wrong",
    [
        b'192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326\n',
        b"200 1 x 1 +\n",
        b"200  1 1 +\n",
        b"999 1 0.1 1 +\n",
        b"2 200 1 1 +\n",
        b"200 -1 0.1 1 +\n",
        b"200 1 0.1 1\n200 1 0.1 1 + 200 +\n",
        b"200 1 0.1 -1 +\n",
        b"\n\n\n\n\n",
        b"\xff\xfe\n",
    ],
)
def test_line_that_is_none_of_ours_is_named(wrong):
    """After one that is."""
    with pytest.raises(ValueError, match="is no line of ours: expected status") as refused:
        replies_of(b"200 1 0.1 1 +\n" + wrong, NGINX)
    assert repr(wrong.splitlines()[0][:80]) in str(refused.value)


def entries(*requests):
    """Lines of a log in the Common format, parsed."""
    lines = [
        b'192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET %s HTTP/1.1" %d %s' % each for each in requests
    ]
    return [LineParser().parse(line) for line in lines]


def test_entries_of_a_common_log_are_counted_without_times():
    """Each for as many lines as it stands for; a size that is not told is none."""
    replies = replies_of_entries(
        entries((b"/", 200, b"2000"), (b"/a?b=c", 200, b"9"), (b"/b", 304, b"-"), (b"/c", 499, b"0")), each=10
    )
    assert replies.served[:2] == (Served(20), Served(10))
    assert replies.statuses == Statuses(success=20, redirection=10)
    assert (replies.aborted, replies.bytes_sent, replies.dynamic) == (10, 20_090, 10)
    assert replies.service_times.replies == 0


def test_no_entry_is_no_reply():
    """And nothing dynamic, which is known."""
    assert replies_of_entries([], each=1) == Replies(dynamic=0)
