use super::*;

const EXPORT: Export = Export { size: 1 << 20, block: 512, most: 1 << 17 };

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = magic::OPTION.to_be_bytes().to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn request(number: u16, offset: u64, length: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = magic::REQUEST.to_be_bytes().to_vec();
    bytes.extend(0_u16.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend(77_u64.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A session in transmission.
fn begun(structured: bool) -> Session {
    let (mut out, mut go) = (Vec::new(), 0_u32.to_be_bytes().to_vec());
    go.extend(0_u16.to_be_bytes());
    let mut session = Session::new(EXPORT, &mut out);
    session.receive(&3_u32.to_be_bytes());
    if structured {
        session.receive(&option(super::option::STRUCTURED_REPLY, &[]));
    }
    session.receive(&option(super::option::GO, &go));
    assert_eq!(session.step(&mut out), Step::More);
    assert_eq!(session.state, State::Transmission);
    session
}

#[test]
fn requests_come_byte_by_byte_as_at_once() {
    let bytes = request(super::request::WRITE, 1024, 512, &[9; 512]);
    let (mut session, mut out) = (begun(false), Vec::new());
    for byte in &bytes[..bytes.len() - 1] {
        session.receive(&[*byte]);
        assert_eq!(session.step(&mut out), Step::More);
    }
    session.receive(&bytes[bytes.len() - 1..]);
    let Step::Request(request) = session.step(&mut out) else { panic!("it is whole") };
    assert_eq!((request.command, request.offset), (Command::Write { fua: false }, 1024));
    assert_eq!(request.data, [9; 512]);
    session.answer(&request, Ok(&[]), &mut out);
    let mut simple = magic::SIMPLE_REPLY.to_be_bytes().to_vec();
    simple.extend([0; 4]);
    simple.extend(77_u64.to_be_bytes());
    assert_eq!(out, simple);
}

#[test]
fn a_structured_read_tells_its_offset_and_an_error_its_number() {
    let (mut session, mut out) = (begun(true), Vec::new());
    session.receive(&request(super::request::READ, 512, 512, &[]));
    let Step::Request(request) = session.step(&mut out) else { panic!("a read") };
    session.answer(&request, Ok(&[1; 512]), &mut out);
    assert_eq!(out.len(), 20 + 8 + 512);
    assert_eq!(out[..8], [0x66, 0x8E, 0x33, 0xEF, 0, 1, 0, 1]);
    assert_eq!(out[20..28], 512_u64.to_be_bytes());
    out.clear();
    session.answer(&request, Err(Error::Io), &mut out);
    assert_eq!((out[6], out[7], out[23]), (0x80, 1, 5));
}

#[test]
fn what_cannot_be_is_answered_by_the_session_itself() {
    for (number, offset, length, error) in [
        (super::request::READ, 1, 512, 22),
        (super::request::READ, 0, 0, 22),
        (super::request::READ, 1 << 20, 512, 22),
        (super::request::READ, 0, 1 << 18, 75),
        (super::request::TRIM, 1 << 20, 512, 28),
        (super::request::FLUSH, 512, 0, 22),
        (99, 0, 512, 22),
    ] {
        let (mut session, mut out) = (begun(false), Vec::new());
        session.receive(&request(number, offset, length, &[]));
        assert_eq!(session.step(&mut out), Step::More, "{number} {offset} {length}");
        assert_eq!(out.get(7), Some(&error), "{number} {offset} {length}");
    }
    let (mut session, mut out) = (begun(false), Vec::new());
    session.receive(&request(super::request::WRITE, 0, 1 << 30, &[]));
    assert_eq!(session.step(&mut out), Step::Closed, "nobody waits for so much");
}

#[test]
fn fuzz_session() {
    let mut whole = 3_u32.to_be_bytes().to_vec();
    whole.extend(option(super::option::LIST, &[]));
    whole.extend(option(super::option::STRUCTURED_REPLY, &[]));
    whole.extend(option(super::option::SET_META_CONTEXT, &query(&[b"base:allocation"])));
    whole.extend(option(super::option::GO, &[0, 0, 0, 1, b'a', 0, 1, 0, 3]));
    whole.extend(request(super::request::READ, 0, 512, &[]));
    whole.extend(request(super::request::WRITE, 0, 512, &[7; 512]));
    whole.extend(request(super::request::WRITE_ZEROES, 0, 1024, &[]));
    whole.extend(request(super::request::BLOCK_STATUS, 0, 1024, &[]));
    whole.extend(request(super::request::DISCONNECT, 0, 0, &[]));
    fuzz::Target::new("nbd").seed(whole).few(2048).run(|bytes| {
        let mut out = Vec::new();
        let mut session = Session::new(EXPORT, &mut out);
        for piece in bytes.chunks(97) {
            session.receive(piece);
            while let Step::Request(request) = session.step(&mut out) {
                let (length, size) = (u64::from(request.length), EXPORT.size);
                assert!(request.offset <= size && length <= size - request.offset);
                assert!(request.offset % 512 == 0 && length % 512 == 0);
                session.answer(&request, Ok(&[]), &mut out);
            }
        }
    });
}

/// A query for contexts.
fn query(names: &[&[u8]]) -> Vec<u8> {
    let mut data = 0_u32.to_be_bytes().to_vec();
    data.extend((names.len() as u32).to_be_bytes());
    for name in names {
        data.extend((name.len() as u32).to_be_bytes());
        data.extend(*name);
    }
    data
}

#[test]
fn holes_are_told_to_who_has_chosen_their_context() {
    let (list, set) = (super::option::LIST_META_CONTEXT, super::option::SET_META_CONTEXT);
    for (structured, number, names, kinds) in [
        (true, set, &[&b"base:allocation"[..]][..], &[4, 1][..]),
        (true, set, &[b"qemu:dirty-bitmap:x", b"base:allocation"], &[4, 1]),
        (true, set, &[b"base:"], &[1]),
        (true, list, &[], &[4, 1]),
        (true, list, &[b"base:"], &[4, 1]),
        (true, list, &[b"other:"], &[1]),
        (false, set, &[b"base:allocation"], &[super::reply::INVALID]),
    ] {
        let (mut out, mut session) = (Vec::new(), Session::new(EXPORT, &mut Vec::new()));
        session.receive(&3_u32.to_be_bytes());
        if structured {
            session.receive(&option(super::option::STRUCTURED_REPLY, &[]));
        }
        session.step(&mut out);
        out.clear();
        session.receive(&option(number, &query(names)));
        assert_eq!(session.step(&mut out), Step::More);
        let (mut told, mut rest) = (Vec::new(), &out[..]);
        while let Some((head, more)) = rest.split_first_chunk::<20>() {
            told.push(u32::from_be_bytes([head[12], head[13], head[14], head[15]]));
            let length = u32::from_be_bytes([head[16], head[17], head[18], head[19]]);
            rest = &more[length as usize..];
        }
        assert_eq!(told, kinds, "{structured} {number} {names:?}");
        // A question for holes.
        let mut data = 0_u32.to_be_bytes().to_vec();
        data.extend(0_u16.to_be_bytes());
        session.receive(&option(super::option::GO, &data));
        session.receive(&request(super::request::BLOCK_STATUS, 512, 1024, &[]));
        out.clear();
        let chosen = number == set && kinds == [4, 1];
        let Step::Request(asked) = session.step(&mut out) else {
            assert!(!chosen, "it was chosen");
            continue;
        };
        assert!(chosen, "{structured} {number} {names:?}");
        out.clear();
        let parts = [
            Extent { length: 512, kind: ExtentKind::Data },
            Extent { length: 512, kind: ExtentKind::Hole },
        ];
        session.answer_status(&asked, &parts, &mut out);
        assert_eq!(out[4..8], [0, 1, 0, 5]);
        assert_eq!(out[20..], [0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]);
    }
}
