//! Substitute for `translate` without blocks: for hosts other than x86-64 with Linux.

use crate::code::Text;
use crate::core::blocks::View;
use crate::core::Flow;
use crate::decode::Op;
use bus::Bus;
use std::sync::Arc;

/// See `translate`.
pub(crate) const HOT: u32 = 0;

/// See `translate`. Nothing but `Cold` is ever answered.
#[allow(dead_code)]
pub(crate) enum Ran {
    Up,
    With(*const Op, Flow),
    Enough,
    Cold,
}

/// There is none.
pub(crate) enum Translator {}

impl Translator {
    pub fn take(_: &mut View<'_>, _: &Arc<Text>) -> Option<Box<Translator>> {
        None
    }
    pub fn give_back(self: Box<Translator>) {
        match *self {}
    }
    pub fn run<B: Bus>(&mut self, _: &mut View<'_>, _: &mut B, _: &Text) -> Ran {
        match *self {}
    }
    pub fn goes_on(&self, _: &View<'_>) -> Option<*const u8> {
        match *self {}
    }
    pub fn go_through<B: Bus>(
        &mut self,
        _: &mut View<'_>,
        _: &mut B,
        _: &Text,
        _: *const u8,
    ) -> Ran {
        match *self {}
    }
}

/// Does nothing: on this host nothing is ever translated.
pub fn set_room_for_translations(_bytes: usize) {}
