"""A book shop in a database, after TPC-W: its data, and what its customers do.

INTERACTIONS are those of TPC-W, the pages of a shop, each as the statements that such a page sends; the
pictures and the making of the page are left out. MIXES have their shares in percent (TPC-W 1.8, table 5.2.1):
a customer who browses hardly ever changes anything, one who orders does so in half of what he asks.

DATA. Every row follows from its number, so the server makes the rows itself, with one statement for each
table. Numbers of rows keep TPC-W's proportions. Numbers and texts have a fixed width: so each interaction has
a number of rows and of bytes that is known beforehand, whatever other customers have done meanwhile, and its
bytes are like no other's. A customer's cart has three lines, which are filled anew and never deleted. History
that is aggregated is that of the orders that were there from the beginning.

SESSIONS are customers. Each logs in, does some interactions, with pauses, and leaves. Lengths are geometric,
pauses exponential and at most ten times their mean, as in TPC-W. A session whose pauses add up to more than
5 s has all of them shortened in proportion, as the time limit is one for a session (session_shapes.py).
"""

# ruff: noqa: S608 - what stands in the statements are numbers made here
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from trimtab_tuner.workloads.session_log import Request, Session
from trimtab_tuner.workloads.session_shapes import shorten_pauses

SUBJECTS = 24
ITEMS_OF_AUTHOR = 4
CUSTOMERS_FOR_ITEM = 3  # 2.88 in TPC-W's smallest shop
CART_LINES = 3
FIRST_ITEM, FIRST_AUTHOR, FIRST_CUSTOMER, FIRST_ORDER = 100_000, 300_000, 2_000_000, 10_000_000
RECENT_ORDERS = 3_000
LONGEST_PAUSE = 10.0  # times the mean
SESSION_LENGTH = 10.0
LEAST_TIMES = {"timeout_s": 6.0, "calibration_step_s": 4.0, "rate_duration_s": 5.0, "warmup_s": 1.5}
"""Settings of a run that are at least that, however short a preset makes pauses: the time of queries does not
shrink with the pauses. The heavy ones take a tenth of a second and more, and TPC-W gives a single one 3 s and
more. So a session needs some seconds, and a second is too short to tell whether a rate is followed."""

DATABASE = "shop"
USER = "trimtab"

WARMING = (
    "CHECKSUM TABLE author, item, customer, cart_line, orders, order_line EXTENDED",
    "SELECT COUNT(*) FROM item FORCE INDEX (author)",
    "SELECT COUNT(*) FROM item FORCE INDEX (subject)",
    "SELECT COUNT(*) FROM orders FORCE INDEX (customer)",
)
"""Statements that read all tables and indexes once, so that what fits is in memory."""


class Interaction(NamedTuple):
    """What a page asks: its statements, the rows that they send, find and insert, and the bytes sent."""

    statements: str
    rows: int
    size_bytes: int


class Chosen(NamedTuple):
    """What a customer has in hand: the numbers of five items, and the others' numbers."""

    items: tuple[int, ...]
    author: int
    customer: int
    subject: int


Make = Callable[[Chosen], Interaction]


def _home(chosen: Chosen) -> Interaction:
    statements = (
        f"SELECT name FROM customer WHERE id={chosen.customer}; "
        f"SELECT id, title FROM item WHERE id IN ({_listed(chosen.items)})"
    )
    return Interaction(statements, 6, 361)


def _new_products(chosen: Chosen) -> Interaction:
    statement = (
        f"SELECT id, title, published FROM item WHERE subject={chosen.subject} "
        "ORDER BY published DESC, id LIMIT 20"
    )
    return Interaction(statement, 20, 1580)


def _best_sellers(chosen: Chosen) -> Interaction:
    statement = (
        "SELECT item.id, item.title FROM order_line JOIN item ON item.id=order_line.item "
        f"WHERE order_line.id BETWEEN {FIRST_ORDER + 1} AND {FIRST_ORDER + RECENT_ORDERS} "
        f"AND item.subject={chosen.subject} "
        "GROUP BY item.id, item.title ORDER BY SUM(order_line.quantity) DESC, item.id LIMIT 20"
    )
    return Interaction(statement, 20, 1360)


def _product_detail(chosen: Chosen) -> Interaction:
    statement = (
        "SELECT item.id, title, description, author.name FROM item JOIN author ON author.id=item.author "
        f"WHERE item.id={chosen.items[0]}"
    )
    return Interaction(statement, 1, 310)


def _search_request(chosen: Chosen) -> Interaction:
    return Interaction(f"SELECT id, title FROM item WHERE id IN ({_listed(chosen.items)})", 5, 340)


def _search_results(chosen: Chosen) -> Interaction:
    statement = (
        "SELECT item.id, title, author.name FROM author JOIN item ON item.author=author.id "
        f"WHERE author.id={chosen.author} ORDER BY title LIMIT 50"
    )
    return Interaction(statement, ITEMS_OF_AUTHOR, 436)


def _cart_of(customer: int) -> str:
    return (
        "SELECT item.id, title FROM cart_line JOIN item ON item.id=cart_line.item "
        f"WHERE cart_line.customer={customer}"
    )


def _shopping_cart(chosen: Chosen) -> Interaction:
    line, quantity = 1 + chosen.items[0] % CART_LINES, 1 + chosen.items[0] % 9
    statements = (
        f"UPDATE cart_line SET item={chosen.items[0]}, quantity={quantity} "
        f"WHERE customer={chosen.customer} AND line={line}; {_cart_of(chosen.customer)}"
    )
    return Interaction(statements, 1 + CART_LINES, 204)


def _customer_registration(chosen: Chosen) -> Interaction:
    statements = (
        f"UPDATE customer SET seen=NOW() WHERE id={chosen.customer}; "
        f"SELECT name, address FROM customer WHERE id={chosen.customer}"
    )
    return Interaction(statements, 2, 102)


def _buy_request(chosen: Chosen) -> Interaction:
    statements = (
        f"UPDATE customer SET seen=NOW() WHERE id={chosen.customer}; "
        f"SELECT name FROM customer WHERE id={chosen.customer}; {_cart_of(chosen.customer)}"
    )
    return Interaction(statements, 2 + CART_LINES, 225)


def _buy_confirm(chosen: Chosen) -> Interaction:
    statements = (
        f"BEGIN; INSERT INTO orders (customer, made) VALUES ({chosen.customer}, NOW()); "
        "INSERT INTO order_line SELECT LAST_INSERT_ID(), line, item, quantity FROM cart_line "
        f"WHERE customer={chosen.customer}; "
        f"UPDATE item SET stock=stock-1 WHERE id={chosen.items[0]}; COMMIT"
    )
    return Interaction(statements, 2 + CART_LINES, 0)


def _order_inquiry(chosen: Chosen) -> Interaction:
    return Interaction(f"SELECT name FROM customer WHERE id={chosen.customer}", 1, 21)


def _order_display(chosen: Chosen) -> Interaction:
    last = f"SELECT MAX(id) FROM orders WHERE customer={chosen.customer}"
    statements = (
        f"SELECT id, DATE(made) FROM orders WHERE id=({last}); "
        f"SELECT item, quantity FROM order_line WHERE id=({last})"
    )
    return Interaction(statements, 1 + CART_LINES, 47)


def _admin_request(chosen: Chosen) -> Interaction:
    return Interaction(f"SELECT id, title, price FROM item WHERE id={chosen.items[0]}", 1, 73)


def _admin_confirm(chosen: Chosen) -> Interaction:
    item, price = chosen.items[0], 1000 + chosen.items[1] % 9000
    statements = f"UPDATE item SET price={price} WHERE id={item}; SELECT id, price FROM item WHERE id={item}"
    return Interaction(statements, 2, 12)


INTERACTIONS: Mapping[str, Make] = {
    "home": _home,
    "new-products": _new_products,
    "best-sellers": _best_sellers,
    "product-detail": _product_detail,
    "search-request": _search_request,
    "search-results": _search_results,
    "shopping-cart": _shopping_cart,
    "customer-registration": _customer_registration,
    "buy-request": _buy_request,
    "buy-confirm": _buy_confirm,
    "order-inquiry": _order_inquiry,
    "order-display": _order_display,
    "admin-request": _admin_request,
    "admin-confirm": _admin_confirm,
}

MIXES: Mapping[str, tuple[float, ...]] = {
    "browsing": (29, 11, 11, 21, 12, 11, 2, 0.82, 0.75, 0.69, 0.3, 0.25, 0.1, 0.09),
    "shopping": (16, 5, 5, 17, 20, 17, 11.6, 3, 2.6, 1.2, 0.75, 0.66, 0.1, 0.09),
    "ordering": (9.12, 0.46, 0.46, 12.35, 14.53, 13.08, 13.53, 12.86, 12.73, 10.18, 0.25, 0.22, 0.12, 0.11),
}
"""Shares in percent, in the order of INTERACTIONS."""


def data(items: int) -> str:
    """The statements that make the shop with so many items, and the user who may use it.

    For a server that has no database of that name yet, or for `mariadbd --bootstrap`, which reads accounts
    only when it is told to. A multiple of 10,000 has rows for every interaction. Without these checks InnoDB
    fills an empty table in one go, and keeps no old versions of it.
    """
    customers = CUSTOMERS_FOR_ITEM * items
    return f"""\
SET unique_checks=0, foreign_key_checks=0;
CREATE DATABASE {DATABASE};
USE {DATABASE};
CREATE TABLE author (id INT PRIMARY KEY, name CHAR(40) NOT NULL) ENGINE=InnoDB;
CREATE TABLE item (id INT PRIMARY KEY, title CHAR(60) NOT NULL, author INT NOT NULL, subject INT NOT NULL,
  published DATE NOT NULL, price INT NOT NULL, stock INT NOT NULL, description CHAR(200) NOT NULL,
  KEY (author), KEY (subject, published)) ENGINE=InnoDB;
CREATE TABLE customer (id INT PRIMARY KEY, name CHAR(20) NOT NULL, address CHAR(80) NOT NULL,
  seen DATETIME NOT NULL) ENGINE=InnoDB;
CREATE TABLE cart_line (customer INT, line INT, item INT NOT NULL, quantity INT NOT NULL,
  PRIMARY KEY (customer, line)) ENGINE=InnoDB;
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, made DATETIME NOT NULL,
  KEY (customer)) ENGINE=InnoDB;
CREATE TABLE order_line (id INT, line INT, item INT NOT NULL, quantity INT NOT NULL,
  PRIMARY KEY (id, line)) ENGINE=InnoDB;
INSERT INTO author SELECT {FIRST_AUTHOR}+seq, RPAD(MD5(seq), 40, 'a')
  FROM seq_1_to_{items // ITEMS_OF_AUTHOR};
INSERT INTO item SELECT {FIRST_ITEM}+seq, RPAD(MD5(seq), 60, 'b'),
  {FIRST_AUTHOR}+1+(seq-1) DIV {ITEMS_OF_AUTHOR}, seq MOD {SUBJECTS},
  DATE('2000-01-01') + INTERVAL seq*7919 MOD 9000 DAY, 1000+seq*7919 MOD 9000, 5000000,
  RPAD(MD5(seq), 200, 'c') FROM seq_1_to_{items};
INSERT INTO customer SELECT {FIRST_CUSTOMER}+seq, RPAD(seq, 20, 'd'), RPAD(MD5(seq), 80, 'e'),
  '2020-01-01' FROM seq_1_to_{customers};
INSERT INTO cart_line SELECT {FIRST_CUSTOMER}+people.seq, line.seq,
  {FIRST_ITEM}+1+(people.seq*7919+line.seq) MOD {items}, 1+people.seq MOD 9
  FROM seq_1_to_{customers} AS people, seq_1_to_{CART_LINES} AS line;
INSERT INTO orders SELECT {FIRST_ORDER}+seq, {FIRST_CUSTOMER}+seq, '2020-01-01' FROM seq_1_to_{customers};
INSERT INTO order_line SELECT {FIRST_ORDER}+made.seq, line.seq,
  {FIRST_ITEM}+1+(made.seq*7919+line.seq*17) MOD {items}, 1+made.seq MOD 9
  FROM seq_1_to_{customers} AS made, seq_1_to_{CART_LINES} AS line;
FLUSH PRIVILEGES;
CREATE USER {USER}@'%';
GRANT ALL ON {DATABASE}.* TO {USER}@'%';
"""


def sessions(
    mix: str, *, items: int, count: int, pause_s: float, seed: int, time_scale: float = 1.0
) -> list[Session]:
    """So many customers of a shop with so many items, whose pauses have the mean `pause_s`.

    Their pauses, shortened where they are too long for a session, are multiplied by `time_scale`. Raises
    KeyError for a mix that there is not.
    """
    lengths, kinds, rows, thinking = (
        np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(4)
    )
    shares = np.array(MIXES[mix])
    makers = list(INTERACTIONS.items())
    asked: list[list[tuple[str, Interaction]]] = []
    for length in lengths.geometric(1 / SESSION_LENGTH, count).tolist():
        customer = FIRST_CUSTOMER + int(rows.integers(1, CUSTOMERS_FOR_ITEM * items + 1))
        requests = []
        for kind in kinds.choice(len(makers), length, p=shares / shares.sum()).tolist():
            name, make = makers[kind]
            interaction = make(
                Chosen(
                    items=tuple((FIRST_ITEM + 1 + rows.choice(items, 5, replace=False)).tolist()),
                    author=FIRST_AUTHOR + int(rows.integers(1, items // ITEMS_OF_AUTHOR + 1)),
                    customer=customer,
                    subject=int(rows.integers(0, SUBJECTS)),
                )
            )
            requests.append((name, interaction))
        asked.append(requests)
    ends = np.cumsum([len(requests) for requests in asked])
    pauses = np.minimum(thinking.exponential(size=ends[-1]), LONGEST_PAUSE) * pause_s
    pauses[ends - 1] = 0.0
    pauses_s = iter((shorten_pauses(pauses, ends) * time_scale).tolist())
    return [
        tuple(
            Request(f"/{name}", made.size_bytes, next(pauses_s), True, made.statements, made.rows)
            for name, made in requests
        )
        for requests in asked
    ]


def _listed(items: tuple[int, ...]) -> str:
    return ", ".join(map(str, items))
