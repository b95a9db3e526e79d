"""Recomputes each number of a text that `sunstar diff` has printed from the tables of the two runs' events (folders
a and b, with messages.parquet, calls.parquet, and run.json for what has no event). Prints what is wrong.

    python diffed.py TEXT
"""

import json
import re
import sys

import polars as pl

import checks
from checks import OF, PARTS, TIME, WHOLE, column_of, plain, same, time

RUNS = ["a", "b"]
report = [json.load(open(f"{run}/run.json")) for run in RUNS]
messages = [pl.read_parquet(f"{run}/messages.parquet") for run in RUNS]
calls = [pl.read_parquet(f"{run}/calls.parquet") for run in RUNS]
lines = open(sys.argv[1]).read().split("\n")

SIGNED = r"([+-])" + TIME
NAMED = r"  (\S.*?) +"


def signed(what, sign, number, unit, exact):
    time(what, number, unit, exact if sign == "+" else -exact)


def percent(what, told, a, b):
    same(what, float(told.replace(",", "")), 100 * (b - a) / a, 0.01)


def times(line, values):
    """A line of two times and their difference, with its share of the first or without."""
    found = re.fullmatch(NAMED + TIME + " +" + TIME + r" +(?:0|" + SIGNED + r")(?: +([+-]\S+) %)?", line)
    if not found:
        return False
    name, a, a_unit, b, b_unit, sign, number, unit, share = found.groups()
    exact = values(name)
    if exact is None:
        return False
    time(f"{line}: A", a, a_unit, exact[0])
    time(f"{line}: B", b, b_unit, exact[1])
    if sign:
        signed(line, sign, number, unit, exact[1] - exact[0])
    else:
        same(line, exact[0], exact[1])
    if share:
        percent(line, share, *exact)
    return True


def numbers(line, values):
    found = re.fullmatch(NAMED + WHOLE + " +" + WHOLE + r"(?: +(?:0|([+-])" + WHOLE + r"))?(?: +([+-]\S+) %| +(\d\S*|-))?",
                         line)
    if not found:
        return False
    name, a, b, sign, number, share, ratio = found.groups()
    exact = values(name)
    if exact is None:
        return False
    same(f"{line}: A", plain(a), exact[0])
    same(f"{line}: B", plain(b), exact[1])
    if sign:
        same(line, plain(number), (exact[1] - exact[0]) * (1 if sign == "+" else -1))
    if share:
        percent(line, share, *exact)
    if ratio == "-":
        same(f"{line}: there were none", exact[0], 0)
    elif ratio and ratio != "0":
        same(f"{line}: ratio", float(ratio.replace(",", "")), exact[1] / exact[0], 0.001)
    return True


def sum_of(table, column):
    return int(table[column].sum())


def of_call(name):
    return [table.filter(pl.col("call") == name) for table in calls]


def parts_of(line, name):
    """`NIC +223.302 us, library ...; rank 4: +182.534 us`: the parts and the rank that differ most."""
    told, _, rank = line.strip().partition("; ")
    own = of_call(name)
    for part, sign, number, unit in re.findall(r"([A-Za-z][A-Za-z ]*?) " + SIGNED, told):
        a, b = (sum_of(table, OF[part]) for table in own)
        signed(f"{name}: {part}", sign, number, unit, b - a)
    if found := re.fullmatch(r"rank (\d+): " + SIGNED, rank):
        number = int(found[1])
        a, b = (sum_of(table.filter(pl.col("rank") == number), "total_ps") for table in own)
        signed(f"{name}: rank {number}", *found.groups()[1:], b - a)


LIKE = r"(\w+), (\w+), " + WHOLE + r"(?: to " + WHOLE + r")? bytes?"
TITLE = (r"Where the time of a message went, " + LIKE + r"(?: in A; " + LIKE + r" in B)? \(mean of " + WHOLE
         + r"(?: in A, " + WHOLE + r" in B)?\)")


def class_of(run, kind, protocol, least, most):
    least = plain(least)
    most = plain(most) if most else least
    table = messages[run]
    return table.filter((pl.col("kind") == kind) & (pl.col("protocol") == protocol)
                        & pl.col("bytes").is_between(least, most))


class Steps:
    """The steps of a class, as they are printed, and what is left of them."""

    def __init__(self, line, found):
        cells = found.groups()
        a, b = cells[:4], cells[4:8] if cells[4] else cells[:4]
        self.tables = [class_of(0, *a), class_of(1, *b)]
        told = plain(cells[8]), plain(cells[9] or cells[8])
        for table, number in zip(self.tables, told):
            same(f"{line}: messages", number, table.height)
        self.shown = [0.0, 0.0]

    def mean(self, name):
        column = column_of(name)
        sums = [sum_of(table, column) if column in table.columns else 0 for table in self.tables]
        return [sum / table.height for sum, table in zip(sums, self.tables)]

    def values(self, name):
        total = [sum_of(table, "total_ps") / table.height for table in self.tables]
        if name == "total":
            return total
        if re.match(r"\d+ (other )?steps?( with less| *$)|the other steps, equal|\d+ other steps?", name):
            self.rest = True
            return None
        exact = self.mean(name)
        self.shown = [shown + one for shown, one in zip(self.shown, exact)]
        return exact


host = [{}, {}]
counted = [{}, {}]
for at, one in enumerate(report):
    for node in one["nodes"]:
        for name, ns in node["host_ns"].items():
            host[at][name] = host[at].get(name, 0) + round(ns * 1e3)
        for name, number in node["counters"].items():
            greatest = name.endswith(("_max", "_high_water"))
            before = counted[at].get(name, 0)
            counted[at][name] = max(before, number) if greatest else before + number


def result(name):
    if name == "simulated time":
        return [one["simulated_ns"] * 1e3 for one in report]
    if name == "messages":
        return [table.height for table in messages]
    if name == "firmware, cycles beyond polling":
        return [one["firmware"]["busy_cycles"] for one in report]
    return None


section, call, steps, left = "", None, None, None
for line in lines:
    if not line.strip():
        section = section if section == "steps" and left else ""
        continue
    if re.match(r"[AB]  ", line) or line.startswith("Parameters that differ"):
        section = "words"
    elif line.startswith("What differs beside parameters") or line.startswith("Steps of unlike messages"):
        section = "words"
    elif found := re.match(r"([AB]) takes (\S+) (% longer than|times as long as) [AB]: " + TIME + ", not " + TIME, line):
        name, number, how, *told = found.groups()
        quick, slow = sorted(one["simulated_ns"] * 1e3 for one in report)
        same(f"{line}: the slower", report[RUNS.index(name.lower())]["simulated_ns"] * 1e3, slow)
        exact = slow / quick if how.startswith("times") else 100 * (slow - quick) / quick
        same(line, float(number.replace(",", "")), exact, 0.01)
        time(line, told[0], told[1], slow)
        time(line, told[2], told[3], quick)
    elif found := re.match("Both programs take " + TIME, line):
        for one in report:
            time(line, found[1], found[2], one["simulated_ns"] * 1e3)
    elif re.match(r"(Result|Time in calls|Host processors|Counters that differ)", line):
        section = line.split(",")[0].split("  ")[0]
    elif found := re.fullmatch(TITLE, line):
        section, steps, left = "steps", Steps(line, found), []
    elif section == "words":
        # Settings of runs, and numbers of classes.
        if found := re.match(r"  only ([AB]) sent (.*?)[;.]", line):
            run = RUNS.index(found[1].lower())
            of = re.match(WHOLE + " " + LIKE, found[2])
            if of:
                same(line, plain(of[1]), class_of(run, *of.groups()[1:]).height)
    elif section == "Result":
        times(line, result) or numbers(line, result) or checks.wrong.append(f"no source: {line}")
    elif section == "Time in calls":
        if found := re.match(r"  (\S+) ", line):
            call = found[1]
            own = of_call(call)
            if not times(line, lambda _, own=own: [sum_of(table, "total_ps") for table in own]):
                if not re.match(r"  \d+ more ", line):
                    checks.wrong.append(f"no source: {line}")
        else:
            parts_of(line, call)
    elif section == "steps":
        if re.match(r" {10,}A ", line):
            continue
        cells = re.fullmatch(NAMED + TIME + " +" + TIME + r" +(?:0|" + SIGNED + r")(?: +([+-]\S+) %)?", line)
        if cells and re.match(r"\d+ (other )?steps?\b|the other steps, equal|another step", cells[1]):
            left.append((line, cells.groups()))
            continue
        if not times(line, steps.values):
            checks.wrong.append(f"no source: {line}")
        if line.startswith("  total"):
            # What is not shown is the rest of the total.
            total = steps.values("total")
            for run in (0, 1):
                rest = total[run] - steps.shown[run]
                told = 0.0
                for _, one in left:
                    number, unit = one[1 + 2 * run], one[2 + 2 * run]
                    told += float(number.replace(",", "")) * checks.UNITS[unit]
                same(f"{line}: the steps that are not shown, {RUNS[run]}", told, rest, 2 * 1e3 * max(1, len(left)))
            left = None
    elif section == "Host processors":
        values = lambda name: [one.get(name, 0) for one in host]
        if not times(line, values) and not re.match(r"  \d+ more ", line):
            checks.wrong.append(f"no source: {line}")
    elif section == "Counters that differ":
        values = lambda name: [one.get(name, 0) for one in counted]
        if not numbers(line, values) and not re.match(r"  \d+ (more|are of one) ", line):
            checks.wrong.append(f"no source: {line}")
    elif re.match(r"\d+ (more )?class(es)? of messages", line):
        pass
    elif re.search(r"\d", line):
        checks.wrong.append(f"no source: {line}")
checks.tell()
