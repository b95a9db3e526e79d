//! Results of linking, and each way in which objects do not fit together.

use lanai_link::{link, Image, Input, Map};
use std::process::Command;

const MAP: &str = "
[[constant]]
name = 'REGION_PROGRAM_BASE'
value = 0
[[constant]]
name = 'REGION_PROGRAM_SIZE'
value = 0x10000
[[constant]]
name = 'REGION_GUARD_BASE'
value = 0x10000
[[constant]]
name = 'REGION_GUARD_SIZE'
value = 0x10000
[[constant]]
name = 'STACK_SIZE'
value = 0x1000
";

fn compile(name: &str, text: &str) -> Input {
    let folder = tempfile::tempdir().unwrap();
    let (source, out) = (folder.path().join(name), folder.path().join("out.o"));
    std::fs::write(&source, text).unwrap();
    let run = Command::new("clang-14")
        .args(["--target=lanai", "-ffreestanding", "-O1", "-gdwarf-4", "-w", "-c", "-o"])
        .args([&out, &source])
        .output()
        .expect("clang-14 runs (scripts/bootstrap test)");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Input { name: name.replace(".c", ".o").replace(".s", ".o"), bytes: std::fs::read(out).unwrap() }
}

fn map() -> Map {
    Map::parse(MAP).unwrap()
}

fn good() -> Image {
    let start = compile("start.s", ".text\n.globl _start\n_start:\n bt main\n nop\n");
    let main = compile(
        "main.c",
        "extern int table[4];\nint seen;\nstatic int next = 7;\nint add(int a);\n\
         int main(void) { return add(table[2]) + seen + next++; }\n",
    );
    let rest = compile(
        "rest.c",
        "const int table[4] = { 1, 2, 3, 4 };\n\n__attribute__((noinline))\nint add(int a) {\n\
         \x20   return a + 5;\n}\n",
    );
    link(&[start, main, rest], &map()).unwrap()
}

#[track_caller]
fn refused(inputs: &[Input], sentences: &[impl AsRef<str>]) {
    let errors = link(inputs, &map()).unwrap_err();
    let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let sentences: Vec<&str> = sentences.iter().map(AsRef::as_ref).collect();
    assert_eq!(found, sentences);
}

#[test]
pub fn sections_follow_one_another_and_addresses_are_filled_in() {
    let image = good();
    let at = |name: &str| image.address(name).unwrap();
    let word = |addr: u32| u32::from_be_bytes(image.flat[addr as usize..][..4].try_into().unwrap());
    assert_eq!(word(0), 0xe000_0000 | at("main"), "bt main");
    assert_eq!([0, 4, 8, 12].map(|o| word(at("table") + o)), [1, 2, 3, 4]);
    assert_eq!(word(at("next")), 7);
    let kinds: Vec<&str> = image.sizes.iter().map(|size| size.what).collect();
    assert_eq!(kinds, ["text", "constants", "data", "zeroed"]);
    assert!(image.sizes.windows(2).all(|pair| pair[0].base + pair[0].bytes <= pair[1].base));
    assert_eq!(at("seen"), at("__zeroed_start"));
    assert_eq!(at("__stack_top"), 0x10000);
    assert_eq!(image.flat.len() as u32, image.sizes[2].base + image.sizes[2].bytes);
    assert_eq!(image.function(at("add") + 4).unwrap().name, "add");
}

#[test]
pub fn the_elf_file_names_functions_and_lines() {
    let image = good();
    let addr = image.address("add").unwrap();
    use object::{Object, ObjectSection, ObjectSymbol};
    let file = object::File::parse(&*image.elf).unwrap();
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok("add")).unwrap();
    assert_eq!(symbol.address(), u64::from(addr));
    let dwarf = gimli::Dwarf::load(|id| {
        let data = file.section_by_name(id.name()).map(|s| s.data().unwrap()).unwrap_or(&[]);
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(data, gimli::RunTimeEndian::Big))
    });
    let context = addr2line::Context::from_dwarf(dwarf.unwrap()).unwrap();
    // The line of `return a + 5` holds some instruction of the function.
    let size = u64::from(image.function(addr).unwrap().size);
    let lines: Vec<_> = (0..size / 4)
        .filter_map(|n| context.find_location(symbol.address() + 4 * n).unwrap())
        .map(|place| (place.file.unwrap().rsplit('/').next().unwrap().to_owned(), place.line))
        .collect();
    assert!(lines.contains(&("rest.c".to_owned(), Some(5))), "{lines:?}");
}

#[test]
fn the_c_array_holds_the_image() {
    let image = good();
    let text = image.c_array("mcp");
    assert!(text.contains(&format!("#define MCP_BYTES {}u", image.flat.len())));
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("array.c"), folder.path().join("array"));
    let main = "int main(void) { return fwrite(mcp, 1, MCP_BYTES, stdout) != MCP_BYTES; }\n";
    std::fs::write(&source, format!("#include <stdio.h>\n{text}{main}")).unwrap();
    assert!(Command::new("gcc")
        .args(["-Wall", "-Werror", "-o"])
        .args([&program, &source])
        .status()
        .unwrap()
        .success());
    assert_eq!(Command::new(program).output().unwrap().stdout, image.flat);
}

#[test]
fn instructions_of_later_processors_are_named() {
    let start = compile(
        "start.s",
        ".text\nfirst:\n nop\n bt .Lhere\n nop\n.Lhere:\n popc %r6, %r7\n add %r6, %r7, %r8\n",
    );
    let image = link(&[start], &map()).unwrap();
    let later = image.later();
    assert_eq!(later.len(), 1);
    assert_eq!((later[0].addr, &*later[0].text), (12, "popc %r6, %r7"));
    assert_eq!(later[0].function.as_deref(), Some("first"));
}

#[test]
pub fn missing_and_double_symbols_are_sentences() {
    let user = compile("user.c", "int gone(void); int f(void) { return gone() + gone(); }");
    refused(&[user], &["user.o: .text+0x14 uses `gone`, which is defined nowhere"]);
    let [a, b] = ["a.c", "b.c"].map(|name| compile(name, "int twice = 1;"));
    refused(&[a, b], &["`twice` is defined in a.o and in b.o"]);
    let weak = compile("weak.c", "__attribute__((weak)) int one = 1;");
    let strong = compile("strong.c", "int one = 2;");
    for order in [[weak.clone(), strong.clone()], [strong, weak]] {
        let image = link(&order, &map()).unwrap();
        let at = image.address("one").unwrap() as usize;
        assert_eq!(image.flat[at..at + 4], [0, 0, 0, 2], "the weak one gives way");
    }
}

#[test]
pub fn addresses_beyond_their_field_are_sentences() {
    let user = "user.s";
    let edge =
        |value: &str| compile("edge.s", &format!(".text\n.globl edge\n.set edge, {value}\n nop\n"));
    // 21 bits, with a field in two parts.
    let text = ".text\n ld [edge], %r6\n mov edge, %r6\n";
    let image = link(&[compile(user, text), edge("0x1ffffc")], &map()).unwrap();
    assert_eq!(image.flat[..8], [0xf3, 0x7c, 0xff, 0xfc, 0xf3, 0x7e, 0xff, 0xfc]);
    refused(
        &[compile(user, text), edge("0x200000")],
        &[0, 4].map(|at| {
            format!(
                "user.o: .text+{at:#x} needs the address of `edge`, 0x200000, in 21 bits, \
                 which end at 0x1fffff"
            )
        }),
    );
    let text = ".text\n bt edge\n nop\n";
    refused(
        &[compile(user, text), edge("0x2000000")],
        &["user.o: .text+0x0 needs the address of `edge`, 0x2000000, in 25 bits, which end \
           at 0x1ffffff"],
    );
}

#[test]
pub fn an_image_that_does_not_fit_its_region_is_a_sentence() {
    let big = compile("big.c", "int big[16000] = { 1 };");
    refused(
        &[big],
        &["the image takes 64000 bytes, and region program has 61440 besides 4096 of stack; \
           the largest section is .data of big.o with 64000 bytes"],
    );
    // And neither does one that leaves no room for the stack.
    let tight = compile("tight.c", "int tight[15500] = { 1 };");
    assert!(link(&[tight], &map()).is_err());
}

#[test]
fn what_is_no_object_is_a_sentence() {
    let text = Input { name: "a.txt".to_owned(), bytes: b"hello".to_vec() };
    let errors = link(&[text], &map()).unwrap_err();
    assert!(errors[0].to_string().starts_with("a.txt: not an object of 32 bits"), "{errors:?}");
    let linked = Input { name: "a.elf".to_owned(), bytes: good().elf };
    refused(&[linked], &["a.elf: linked already"]);
    let mut other = compile("other.c", "int x;");
    other.bytes[19] = 20;
    refused(&[other], &["other.o: not for the LANai: its ELF machine is 20, not 244"]);
}

#[test]
fn maps_that_make_no_sense_are_sentences() {
    let refused = |text: &str, sentence: &str| {
        assert_eq!(Map::parse(text).unwrap_err().to_string(), sentence);
    };
    let overlapping =
        MAP.replace("value = 0x1000\n", "value = 0x0\n").replacen("0x10000", "0x10004", 1);
    refused(&overlapping, "memory map: regions program and guard overlap");
    let unsized_ = MAP.replace("REGION_GUARD_SIZE", "REGION_OTHER_SIZE");
    refused(&unsized_, "memory map: region guard has no size");
    refused("constant = []", "memory map: it has no region");
}

#[test]
pub fn addresses_are_added_to_and_halved() {
    let far = compile("far.s", ".text\n.globl far\n.set far, 0x12348765\n nop\n");
    let text = ".text\n mov hi(far), %r6\n or %r6, lo(far), %r6\n.long far+0x10\n.long far-1\n";
    let image = link(&[compile("user.s", text), far], &map()).unwrap();
    let words: Vec<u32> =
        image.flat.chunks(4).map(|w| u32::from_be_bytes(w.try_into().unwrap())).collect();
    assert_eq!(words[..4], [0x0301_1234, 0x5318_8765, 0x1234_8775, 0x1234_8764]);
}

#[test]
pub fn sections_are_aligned() {
    let a = compile("a.s", ".data\n.globl a\na: .byte 1\n");
    let b = compile("b.s", ".data\n.balign 16\n.globl b\nb: .long 2\n");
    let image = link(&[a, b], &map()).unwrap();
    let at = image.address("b").unwrap();
    assert_eq!((at % 16, &image.flat[at as usize..][..4]), (0, &[0, 0, 0, 2][..]));
}

/// Objects with bytes that are wrong end in an image or in sentences.
#[test]
fn damaged_objects_are_sentences() {
    let good = compile("good.c", "int f(int); int a[9] = { 1 }; int g(int b) { return f(a[b]); }");
    let other = compile("other.c", "int f(int c) { return c + 1; }");
    let mut random = des::Random::new(12);
    let (mut linked, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut damaged = good.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(damaged.bytes.len() as u64) as usize;
            damaged.bytes[at] = match random.below(3) {
                0 => 0xff,
                1 => random.next_u64() as u8,
                _ => damaged.bytes[at].wrapping_add(1),
            };
        }
        if random.below(10) == 0 {
            damaged.bytes.truncate(random.below(damaged.bytes.len() as u64) as usize);
        }
        match link(&[damaged, other.clone()], &map()) {
            Ok(_) => linked += 1,
            Err(errors) => {
                assert!(!errors.is_empty());
                refused += 1;
            }
        }
    }
    assert!(linked > 100 && refused > 100, "{linked} linked, {refused} refused");
}
