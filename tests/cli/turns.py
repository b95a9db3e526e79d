"""Threads that sleep and wait for a time. Prints the order in which they end: that of simulated time."""

import queue
import select
import os
import threading
import time

order = []


def wait_beside_a_sleep(wait):
    """A thread sleeps for half a second, and this one waits for a tenth of one."""
    sleeper = threading.Thread(target=lambda: (time.sleep(0.5), order.append("slept")))
    sleeper.start()
    wait()
    order.append("waited")
    sleeper.join()


def wait_for_queue():
    try:
        queue.Queue().get(timeout=0.1)
    except queue.Empty:
        pass


begun = time.monotonic()
reader, writer = os.pipe()
for wait in [
    wait_for_queue,
    lambda: threading.Event().wait(0.1),
    lambda: threading.Lock().acquire() and time.sleep(0.1),
    lambda: select.poll().poll(100),
    lambda: wait_for_descriptor(),
]:
    def wait_for_descriptor():
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        poll.poll(100)

    wait_beside_a_sleep(wait)
print(" ".join(order))

# Who sleeps for longer wakes later, in whatever order they have begun.
order.clear()
sleepers = [
    threading.Thread(target=lambda n=n: (time.sleep(n / 10), order.append(n))) for n in [5, 2, 9, 1]
]
for sleeper in sleepers:
    sleeper.start()
for sleeper in sleepers:
    sleeper.join()
print(order, f"{time.monotonic() - begun:.2f}")
