"""Whether what is sent to an address of this machine comes by a network card, or only by virtual devices.

A card has `device` in its directory in /sys/class/net (ABI/testing/sysfs-class-net). Bonds, bridges and VLANs
name the devices that they are made of (`lower_NAME`), and come by a card where one of those does.
"""

from ipaddress import ip_address
from pathlib import Path

import psutil

SYS = Path("/sys")


def device_of(address: str) -> str | None:
    """The network device that has this address; None where none has."""
    wanted = ip_address(_plain(address))
    for name, addresses in psutil.net_if_addrs().items():
        for each in addresses:
            try:
                if ip_address(_plain(each.address)) == wanted:
                    return name
            except ValueError:
                continue  # the address of the card itself
    return None


def comes_by_card(device: str, sys: Path = SYS) -> bool:
    """Whether the device is a card, or made of one."""
    directory = sys / "class/net" / device
    below = (path.name.removeprefix("lower_") for path in directory.glob("lower_*"))
    return (directory / "device").exists() or any(comes_by_card(name, sys) for name in below)


def _plain(address: str) -> str:
    """Without the device, which stands behind the address of a link."""
    return address.partition("%")[0]
