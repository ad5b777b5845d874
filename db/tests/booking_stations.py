"""Stations that book, die, come late and record, all at once: `booking_stations.py URL RUN SEED KILLS`.

Four processes carry out what the run offers, until all of it has a result. Each lease lasts for at most some
milliseconds, and each claim meets a fate: most record a result, some die (between booking and recording, or
within the transaction that records), give back, renew, or record twice. Besides, KILLS processes are killed
at random instants. Whoever has died is replaced.

Prints one line, `TRIAL REPETITION TOKEN`, for each result of which a station was told that it is recorded.
"""

import os
import random
import signal
import sys
import time

from sqlalchemy import event
from trimtab_db import Repository, open_database
from trimtab_db.errors import LeaseLostError
from trimtab_db.records import Booking, BookingState

STATIONS = 4
LEASES_S = (0.0, 0.001, 0.02)
KILL_ODDS = 0.1
LOOK_EVERY_S = 0.005
DEATH_AFTER_BOOKING, DEATH_IN_COMMIT, RELEASE, RENEW, TWICE = 0.1, 0.2, 0.3, 0.4, 0.5


def die(*_: object) -> None:
    """As a machine does whose power fails."""
    os.kill(os.getpid(), signal.SIGKILL)


def carry_out(repository: Repository, booking: Booking, chance: random.Random) -> None:
    """One claim and its fate."""
    bookings = repository.bookings(booking.run_id)
    held = (booking.id, booking.token)
    result = {"token": booking.token, "process": os.getpid()}
    fate = chance.random()
    if fate < DEATH_AFTER_BOOKING:
        die()
    if fate < DEATH_IN_COMMIT:
        event.listen(repository.database.engine, "commit", die)
    elif fate < RELEASE:
        bookings.release(*held)
        return
    elif fate < RENEW:
        bookings.renew(*held, lease_s=chance.choice(LEASES_S))
    bookings.commit_result(*held, result)
    if fate < TWICE:
        bookings.commit_result(*held, result)
    os.write(1, f"{booking.trial_number} {booking.repetition} {booking.token}\n".encode())


def station(url: str, run_id: int, name: str, seed: int) -> None:
    """Book and carry out until everything has a result."""
    chance = random.Random(seed)
    repository = open_database(url)
    bookings = repository.bookings(run_id)
    while True:
        if chance.random() < KILL_ODDS:
            bookings.expire()
        open_ = [one for one in bookings.all() if one.state is not BookingState.COMMITTED]
        if not open_:
            return
        claim = bookings.book(chance.choice(open_).id, name, chance.choice(LEASES_S))
        if claim is None:
            time.sleep(LOOK_EVERY_S)
            continue
        try:
            carry_out(repository, claim.booking, chance)
        except LeaseLostError:
            continue


def main(url: str, run_id: int, seed: int, kills: int) -> None:
    """Keep the stations going; this process opens no database, as its children are forked from it."""
    chance = random.Random(seed)
    running: set[int] = set()
    ended = 0
    while ended < STATIONS:
        while len(running) + ended < STATIONS:
            seed += 1
            child = os.fork()
            if child == 0:
                station(url, run_id, f"station-{seed % STATIONS}", seed)
                os._exit(0)
            running.add(child)
        time.sleep(LOOK_EVERY_S)
        if kills and chance.random() < KILL_ODDS:
            kills -= 1
            os.kill(chance.choice(sorted(running)), signal.SIGKILL)
        while running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                break
            running.remove(child)
            if status == 0:
                ended += 1
            elif not os.WIFSIGNALED(status):
                sys.exit("a station has failed; what it said stands above")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
