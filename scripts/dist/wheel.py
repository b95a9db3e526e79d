"""Packs an installed tree into a wheel: wheel.py TREE VERSION GLIBC FOLDER.

A wheel has no links. One to a library becomes a copy; one to the command, by which it is one of its verbs, a
script that calls the verb.
"""

import base64
import hashlib
import os
import pathlib
import re
import stat
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).parent
tree, version, glibc, folder = sys.argv[1:]
name = f"sunstar-{version}"
tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_x86_64"
moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
verbs = dict(re.findall(r'\("(mpi[^"]*)", "(\w+)"\)', (HERE / "../../crates/app/cli/src/args/names.rs").read_text()))
record = []


def put(archive, place, data, executable=False):
    entry = zipfile.ZipInfo(place, moment)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
    archive.writestr(entry, data, compresslevel=9)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record.append(f"{place},sha256={digest},{len(data)}\n")


def contents(path):
    if path.is_symlink() and path.resolve().name == "sunstar":
        script = f'#!/bin/sh\nexec "$(dirname "$(readlink -f "$0")")/{os.readlink(path)}" {verbs[path.name]} "$@"\n'
        return script.encode(), True
    return path.read_bytes(), os.access(path, os.X_OK)


with zipfile.ZipFile(f"{folder}/{name}-{tag}.whl", "w") as archive:
    for path in sorted(pathlib.Path(tree).rglob("*")):
        if path.is_dir():
            continue
        place = path.relative_to(tree).as_posix()
        kind = "scripts/sunstar" if place == "bin/sunstar" else f"data/{place}"
        put(archive, f"{name}.data/{kind}", *contents(path))
    put(archive, f"{name}.dist-info/licenses/LICENSE", (HERE / "../../LICENSE").read_bytes())
    about = (HERE / "about.md").read_text()
    fields = (HERE / "metadata").read_text().replace("@VERSION@", version)
    put(archive, f"{name}.dist-info/METADATA", f"{fields}\n{about}".encode())
    wheel = f"Wheel-Version: 1.0\nGenerator: sunstar\nRoot-Is-Purelib: false\nTag: {tag}\n"
    put(archive, f"{name}.dist-info/WHEEL", wheel.encode())
    place = f"{name}.dist-info/RECORD"
    put(archive, place, "".join(record + [f"{place},,\n"]).encode())
