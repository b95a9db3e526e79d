#!/bin/sh
# A file system on the disk at $uri, through nbdfuse, in folder $1: a copy of the files in $2, by
# debugfs without the kernel and, where loop devices are allowed, mounted; checked each time. Says in
# a sentence what it leaves out.
set -e
cd "$1"
mkdir m mnt tree
cp "$2"/*.md tree
nbdfuse m/disk "$uri" 2>why &
fuse=$!
# What is not mounted any more, or ends by a signal, is no failure here.
leave() {
    umount mnt 2>why || true
    umount m 2>why || fusermount -u m 2>why || kill $fuse
    wait $fuse || true
}
trap leave EXIT
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ -e m/disk ] && break
    sleep 0.2
done
[ -e m/disk ] || { echo "left out: a file system, since fuse is not allowed here"; exit 0; }

mkfs.ext4 -q -F m/disk
{
    echo "mkdir a"
    echo "cd a"
    for file in tree/*; do echo "write $file ${file#tree/}"; done
} >commands
debugfs -w -f commands m/disk >/dev/null 2>why
e2fsck -f -n m/disk >checked 2>&1
for file in tree/*; do
    debugfs -R "cat /a/${file#tree/}" m/disk 2>why | cmp - "$file"
done
echo "written and checked"

if mount -o loop m/disk mnt 2>why; then
    cp -r tree mnt/tree
    umount mnt
    e2fsck -f -n m/disk >checked 2>&1
    mount -o loop,ro m/disk mnt
    diff -r tree mnt/tree
    umount mnt
    echo "mounted and checked"
else
    echo "left out: mounting it, since loop devices are not allowed here"
fi
