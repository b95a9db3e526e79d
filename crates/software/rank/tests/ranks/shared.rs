//! Memory that processes share by a name.

use crate::harness::{play, Program};

/// Names drawn by the seed are the same in each run: two runs at a time do not meet, the ranks of one do.
#[test]
fn a_name_of_shared_memory_is_the_runs() {
    let own = format!("/dev/shm/sunstar-{}-shared-by-ranks", std::process::id());
    let program = Program::new(
        "#include <fcntl.h>\n#include <sys/mman.h>",
        "int file = shm_open(\"/shared-by-ranks\", O_CREAT | O_EXCL | O_RDWR, 0600);
         if (file < 0 || ftruncate(file, 42) != 0) return 10;
         MPI_Init(&argc, &argv);
         if (shm_open(\"shared-by-ranks\", O_RDWR, 0) < 0) return 11;
         MPI_Finalize();
         if (shm_unlink(\"/shared-by-ranks\") != 0) return 12;",
    );
    let mut process = program.spawn();
    let mut bytes = Vec::new();
    let status = play(&mut process, |_, _, _, _| {
        bytes.push(std::fs::metadata(&own).map(|facts| facts.len()).unwrap_or_default());
        0
    });
    assert_eq!(status.code, Some(0), "{status:?}");
    assert_eq!(bytes, [42, 42], "{own}");
    assert!(!std::path::Path::new(&own).exists());
}
