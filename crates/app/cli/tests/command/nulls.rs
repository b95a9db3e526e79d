//! Null pointers in the place of results: each function that has one is called with it, as abi/mpi lists
//! them.

use crate::runner::{root, sunstar};
use std::fmt::Write;
use std::fs::read_to_string;

/// Types whose pointers are results, or both: not buffers, and not arrays, which have brackets.
const RESULTS: [&str; 13] = [
    "int",
    "char",
    "MPI_Aint",
    "MPI_Comm",
    "MPI_Count",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Offset",
    "MPI_Op",
    "MPI_Request",
];

/// Functions that cannot be called in the middle of a program.
const NOT_HERE: [&str; 2] = ["MPI_Init", "MPI_Init_thread"];

/// A parameter: `const int displs[]` is type `const int[]`, name `displs`.
fn parameter(text: &str) -> (String, String) {
    let text = text.trim();
    let (text, array) = text.strip_suffix("[]").map_or((text, ""), |text| (text, "[]"));
    let at = text.rfind([' ', '*']).expect("a type and a name") + 1;
    (format!("{}{array}", text[..at].trim()), text[at..].to_owned())
}

fn is_result(function: &str, of: &(String, String)) -> bool {
    let asks = ["MPI_Status_", "MPI_Get_count", "MPI_Get_elements", "MPI_Test_cancelled"];
    match of.0.strip_suffix('*').map(str::trim) {
        Some("MPI_Status" | "const MPI_Status") => {
            asks.iter().any(|beginning| function.starts_with(beginning))
        }
        Some(of) => RESULTS.contains(&of),
        None => false,
    }
}

/// An argument with which a call on MPI_COMM_SELF waits for nothing.
fn argument((of, name): &(String, String)) -> &'static str {
    match (of.as_str(), name.as_str()) {
        ("int", "source" | "dest") => "MPI_PROC_NULL",
        ("int" | "MPI_Count", name) if name.contains("count") => "1",
        ("int" | "MPI_Count" | "MPI_Aint" | "MPI_Offset", _) => "0",
        ("MPI_Comm", _) => "MPI_COMM_SELF",
        ("MPI_Datatype", _) => "MPI_INT",
        ("MPI_Op", _) => "MPI_SUM",
        ("MPI_Info", _) => "MPI_INFO_NULL",
        ("MPI_Group", _) => "MPI_GROUP_EMPTY",
        ("MPI_Errhandler", _) => "MPI_ERRORS_RETURN",
        ("MPI_Message", _) => "MPI_MESSAGE_NO_PROC",
        ("MPI_Request", _) => "MPI_REQUEST_NULL",
        ("const char *", _) => "\"key\"",
        (of, _) if of.contains("_function") => "(void *)nothing",
        _ => "NEXT",
    }
}

/// Each function that works, with its parameters.
fn functions() -> Vec<(String, Vec<(String, String)>)> {
    let page = read_to_string(root().join("docs/reference/mpi.md")).unwrap();
    let table = read_to_string(root().join("abi/mpi/functions.toml")).unwrap();
    let table: toml::Table = table.parse().unwrap();
    let works = |name: &str| page.contains(&format!("| `{name}` | yes |"));
    let all = table["functions"].as_table().unwrap().iter();
    all.filter(|(name, _)| works(name) && !NOT_HERE.contains(&name.as_str()))
        .map(|(name, parameters)| {
            let parameters = parameters.as_str().unwrap().split(',');
            (
                name.clone(),
                parameters
                    .filter(|text| !matches!(text.trim(), "" | "void" | "..."))
                    .map(parameter)
                    .collect(),
            )
        })
        .collect()
}

/// The call with a null pointer in the place of result `null`.
fn call(function: &str, parameters: &[(String, String)], null: usize) -> String {
    let all = parameters.iter().enumerate();
    let words = all.map(|(at, of)| if at == null { "NULL" } else { argument(of) });
    format!("{function}({})", words.collect::<Vec<_>>().join(", "))
}

const BEGIN: &str = "#include <mpi.h>\n#include <stdio.h>\n#include <string.h>\n\
    static long room[64][512];\nstatic int next;\n\
    #define NEXT ((void *)room[next++ % 64])\n\
    static int nothing(void) { return 0; }\n\
    int main(int argc, char **argv) {\n\
    int code;\n(void)nothing;\nMPI_Init(&argc, &argv);\n";

#[test]
fn a_null_pointer_for_a_result_is_an_error_of_each_function() {
    let mut program = BEGIN.to_owned();
    program += "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);\n\
                MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);\n";
    let mut calls = 0;
    for (function, parameters) in functions() {
        for (at, (_, name)) in parameters.iter().enumerate() {
            if is_result(&function, &parameters[at]) {
                let call = call(&function, &parameters, at);
                let _ = writeln!(
                    program,
                    "memset(room, 0, sizeof room); code = {call};\n\
                     if (code == MPI_SUCCESS) printf(\"{function}: {name}\\n\");\n\
                     fflush(stdout);"
                );
                calls += 1;
            }
        }
    }
    program += "printf(\"end\\n\");\nMPI_Finalize();\nreturn 0;\n}\n";
    assert!(calls > 300, "{calls} results");
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("nulls.c");
    std::fs::write(&source, program).unwrap();
    let ended = sunstar(["run", "-q", "-m", "ideal", source.to_str().unwrap()]);
    assert_eq!(ended.went_well().stdout, "end\n");
}

#[test]
fn a_null_pointer_for_a_result_is_told_with_the_name_of_the_call() {
    let folder = tempfile::tempdir().unwrap();
    for call in [
        "MPI_Isend(room, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL)",
        "MPI_Irecv_c(room, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL)",
        "MPI_Ibarrier(MPI_COMM_SELF, NULL)",
        "MPI_Send_init(room, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL)",
        "MPI_Test(NULL, (int *)room, MPI_STATUS_IGNORE)",
        "MPI_Wait(NULL, MPI_STATUS_IGNORE)",
        "MPI_Initialized(NULL)",
        "MPI_Get_address(room, NULL)",
        "MPI_Status_get_tag(NULL, (int *)room)",
        "MPI_Alloc_mem(8, MPI_INFO_NULL, NULL)",
        "MPI_Comm_rank(MPI_COMM_WORLD, NULL)",
    ] {
        let source = folder.path().join("null.c");
        let program = format!("{BEGIN}code = {call};\nreturn code;\n}}\n");
        std::fs::write(&source, program).unwrap();
        let ended = sunstar(["run", "-q", "-m", "ideal", source.to_str().unwrap()]);
        let name = call.split('(').next().unwrap();
        ended.said(1, &[&format!("rank 0: {name}: "), "null pointer"]);
    }
}
