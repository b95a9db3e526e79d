//! `lanai-link` links clang's LANai objects.

#![forbid(unsafe_code)]

use clap::Parser;
use lanai_link::command::{self, Options};
use std::process::ExitCode;

/// Links clang's objects for the LANai into an image that begins at address 0.
#[derive(Parser)]
#[command(name = "lanai-link", version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    match command::run(&Arguments::parse().options) {
        Ok(sizes) => {
            print!("{sizes}");
            ExitCode::SUCCESS
        }
        Err(sentences) => {
            for sentence in sentences {
                eprintln!("lanai-link: {sentence}");
            }
            ExitCode::from(2)
        }
    }
}
