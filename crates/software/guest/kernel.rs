// Tells the tests whether there is a kernel for guests: without, those that need it are skipped, and counted
// so. The command's tests ask in the same way.

use std::path::Path;

fn main() {
    let current = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/linux/current");
    println!("cargo::rustc-check-cfg=cfg(kernel)");
    println!("cargo::rerun-if-changed={}", current.join("linux").display());
    if current.join("linux").is_file() {
        println!("cargo::rustc-cfg=kernel");
    }
}
