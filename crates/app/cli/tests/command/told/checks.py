"""Comparison of printed numbers with exact ones, for told.py and diffed.py."""

import json

wrong, checked = [], 0

UNITS = {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}
TIME = r"(\d[\d,]*(?:\.\d+)?) (ps|ns|us|ms|s)\b"
WHOLE = r"(\d[\d,]*)"


def plain(text):
    return int(text.replace(",", ""))


def same(what, told, exact, digit=0.0):
    """Compares a number; `digit` is the last digit that is printed."""
    global checked
    checked += 1
    if abs(told - exact) > digit / 2 * (1 + 1e-9) + 1e-6:
        wrong.append(f"{what}: {told}, and it is {exact}")


def time(what, number, unit, exact_ps):
    number = number.replace(",", "")
    digits = len(number.partition(".")[2])
    # Means are rounded to whole picoseconds before they are printed.
    same(what, float(number) * UNITS[unit], exact_ps, UNITS[unit] / 10**digits + 1)


def share(what, told, part, whole):
    same(what, int(told), 100 * part / max(whole, 1), 1)


def begin():
    """Sets what is wrong aside, to try one of several rows."""
    global wrong
    kept, wrong = wrong, []
    return kept, checked


def end(kept):
    """What was found wrong since then."""
    global wrong
    found, wrong = wrong, kept
    return found


def tell(**more):
    print(json.dumps({"wrong": wrong, "checked": checked, **more}))


PARTS = ["late_sender_ps", "late_receiver_ps", "imbalance_ps", "library_ps", "kernel_ps", "nic_ps", "network_ps"]
WAITS = PARTS[:3]
OF = {"late senders": "late_sender_ps", "late receivers": "late_receiver_ps", "imbalance": "imbalance_ps",
      "library": "library_ps", "kernel": "kernel_ps", "NIC": "nic_ps", "network": "network_ps"}

LEGS = {"fetch": "leg2_", "reply": "leg2_", "data": "leg3_"}


def column_of(step):
    leg, _, name = step.partition(": ")
    name = name if leg in LEGS else step
    words = "".join(c if c.isalnum() else " " for c in name).lower().split()
    return LEGS.get(leg, "") + "_".join(words) + "_ps"
