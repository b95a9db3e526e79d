# Keys exchanged by sockets before a rank uses MPI: rank 0 is the server of all others.
import os
import select
import socket

rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
if rank == 0:
    server = socket.create_server(("", 5000))
    clients = [server.accept()[0] for _ in range(size - 1)]
    waiting, keys = list(clients), {}
    while waiting:
        for client in select.select(waiting, [], [])[0]:
            who, key = client.makefile().readline().split()
            keys[int(who)] = key
            waiting.remove(client)
    everybody = " ".join(keys[who] for who in sorted(keys))
    for client in clients:
        client.sendall(everybody.encode())
        client.close()
    print(rank, everybody, socket.gethostname(), socket.gethostbyname(socket.gethostname()))
else:
    peer = socket.create_connection(("nid00000", 5000), timeout=10)
    peer.sendall(f"{rank} key{rank * rank}\n".encode())
    everybody = b""
    while piece := peer.recv(4096):
        everybody += piece
    print(rank, everybody.decode(), socket.gethostname(), peer.getpeername()[0])
