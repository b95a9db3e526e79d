//! Each layout parses any bytes of its size, and emits the same bytes.

use abi::seastar::*;
use abi::MessageId;

macro_rules! same {
    ($bytes:ident: $($layout:ident)*) => {$(
        match $layout::parse($bytes) {
            Some(read) => {
                let mut written = $bytes.to_vec();
                read.emit(&mut written);
                assert!(written == $bytes, "{}: {read:?}", stringify!($layout));
                let mut alone = vec![0; $layout::SIZE];
                read.emit(&mut alone);
                assert_eq!($layout::parse(&alone), Some(read));
            }
            None => assert!($bytes.len() < $layout::SIZE),
        }
    )*};
}

#[test]
fn fuzz_layouts() {
    let header = PortalsHeader { op: 1, source_nid: 2, serial: 3, length: 4, ..Default::default() };
    let mut bytes = [0; PortalsHeader::SIZE];
    header.emit(&mut bytes);
    let long = vec![0; Niccb::SIZE];
    fuzz::Target::new("layouts").few(1024).seed(bytes).seed(long).seed("").run(|bytes| {
        same!(bytes: PacketHeader PacketTrailer PortalsHeader Mailbox DmaCommand TraceRecord);
        same!(bytes: InitProcessCommand InitEqcbCommand MarkAliveCommand TxCommand RxCommand);
        same!(bytes: ReleaseCommand Niccb LowerPending UpperPending);
        same!(bytes: TransmitSlot CreditCommand EventLine);
        let header = PortalsHeader::parse(bytes);
        assert_eq!(MessageId::of_header(bytes), header.as_ref().map(MessageId::from));
    });
}
