//! A client of NBD: fixed newstyle, one export, simple replies.

use block::{Ask, Operation};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub struct Client(UnixStream);

impl Client {
    /// Connects to a server that may still be starting.
    pub fn connect(socket: &Path) -> Client {
        for _ in 0..400 {
            if let Ok(stream) = UnixStream::connect(socket) {
                let mut client = Client(stream);
                client.negotiate();
                return client;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nobody listens on {}", socket.display());
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn negotiate(&mut self) {
        assert_eq!(&self.take::<16>(), b"NBDMAGICIHAVEOPT");
        let flags = u16::from_be_bytes(self.take());
        // Fixed newstyle; no zeroes behind the size, if that is offered.
        let brief = flags & 2;
        self.0.write_all(&u32::from(1 | brief).to_be_bytes()).unwrap();
        self.0.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        self.take::<10>();
        if brief == 0 {
            self.take::<124>();
        }
    }

    /// Carries a request out; the data of a read.
    pub fn carry_out(&mut self, ask: &Ask, data: &[u8]) -> Vec<u8> {
        self.send(ask, data);
        assert_eq!(u32::from_be_bytes(self.take()), 0x6744_6698);
        assert_eq!(u32::from_be_bytes(self.take()), 0, "{ask:?}");
        assert_eq!(u64::from_be_bytes(self.take()), 77);
        let reads = ask.operation == Operation::Read;
        let mut read = vec![0; if reads { ask.length as usize } else { 0 }];
        self.0.read_exact(&mut read).unwrap();
        read
    }

    /// Trims a range.
    pub fn trim(&mut self, offset: u64, length: u64, fua: bool) {
        self.send_kind(4, &Ask { fua, ..Ask::new(Operation::Zero, offset, length) }, &[]);
        assert_eq!(self.take::<8>()[4..], [0; 4]);
        self.take::<8>();
    }

    /// Sends a request, and waits for nothing.
    pub fn send(&mut self, ask: &Ask, data: &[u8]) {
        let kind: u16 = match ask.operation {
            Operation::Read => 0,
            Operation::Write => 1,
            Operation::Flush => 3,
            Operation::Zero => 6,
            Operation::End => 2,
            Operation::Pass | Operation::Wait => panic!("no client makes time pass"),
        };
        self.send_kind(kind, ask, data);
    }

    /// Sends so many reads at once, and waits for nothing.
    pub fn send_often(&mut self, ask: &Ask, times: usize) {
        let bytes = Client::request(0, ask, &[]).repeat(times);
        self.0.write_all(&bytes).unwrap();
    }

    fn send_kind(&mut self, kind: u16, ask: &Ask, data: &[u8]) {
        self.0.write_all(&Client::request(kind, ask, data)).unwrap();
    }

    fn request(kind: u16, ask: &Ask, data: &[u8]) -> Vec<u8> {
        let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
        bytes.extend(u16::from(ask.fua).to_be_bytes());
        bytes.extend(kind.to_be_bytes());
        bytes.extend(77_u64.to_be_bytes());
        bytes.extend(ask.offset.to_be_bytes());
        bytes.extend((ask.length as u32).to_be_bytes());
        bytes.extend(data);
        bytes
    }
}
