//! Blocking sends that need no answer.

use crate::harness::{play, Program};
use abi::mpi::{self, Function};
use host::AddressSpace;
use rank::ExitStatus;

const CLEAN: ExitStatus =
    ExitStatus { code: Some(0), signal: None, initialized: true, finalized: true, portals: false };

#[test]
fn short_sends_are_posted_with_their_payload_unless_an_error_may_be_seen() {
    let program = Program::new(
        "",
        "char text[72] = \"first\"; double wide[8] = {1.5};
         MPI_Init(&argc, &argv);
         for (int i = 0; i < 300; i++) {
             text[0] = (char)i;
             MPI_Send(text, 6, MPI_CHAR, 4, 9, MPI_COMM_WORLD);
         }
         MPI_Send(wide, 8, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
         MPI_Send(text, 65, MPI_BYTE, 4, 0, MPI_COMM_WORLD);
         MPI_Send(text, 1, MPI_BYTE, 5, 0, MPI_COMM_WORLD);
         MPI_Send(text, 1, MPI_BYTE, 4, 32768, MPI_COMM_WORLD);
         MPI_Send(text, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF);
         MPI_Send(text, 1, MPI_2INT, 4, 0, MPI_COMM_WORLD);
         MPI_Send(NULL, 1, MPI_BYTE, 4, 0, MPI_COMM_WORLD);
         MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
         if (MPI_Send(text, 1, MPI_BYTE, 4, 0, MPI_COMM_WORLD) != MPI_ERR_RANK) return 3;
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let (mut payloads, mut waits) = (Vec::new(), Vec::new());
    let status = play(&mut process, |_, function, args, posted| {
        if function != Function::Send {
            assert!(!posted);
            return mpi::SUCCESS;
        }
        waits.push(!posted);
        if posted {
            let wide = args[2] == mpi::DOUBLE;
            let mut payload = vec![0; args[1] as usize * if wide { 8 } else { 1 }];
            memory.read(args[0], &mut payload).unwrap();
            payloads.push(payload);
        }
        mpi::ERR_RANK
    });
    assert_eq!(status, CLEAN);
    let mut expected = vec![false; 301];
    expected.extend([true; 7]);
    assert_eq!(waits, expected);
    for (i, payload) in payloads[..300].iter().enumerate() {
        assert_eq!(
            payload,
            &[i as u8, b'i', b'r', b's', b't', 0],
            "more of them than the ring holds"
        );
    }
    assert_eq!(payloads[300][..8], 1.5f64.to_le_bytes());
}
