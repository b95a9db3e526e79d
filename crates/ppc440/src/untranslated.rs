//! Substitute for `translate` without pieces: for hosts other than x86-64 with Linux.

use crate::code::Text;
use crate::core::{Core, Flow};
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

/// See `translate`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stop;

/// There is none.
pub(crate) enum Translator {}

impl Translator {
    pub fn take(_: &mut Core, _: &Arc<Text>) -> Option<Box<Translator>> {
        None
    }
    pub fn give_back(self: Box<Translator>) {
        match *self {}
    }
}

/// Does nothing: on this host nothing is ever translated.
pub fn set_room_for_translations(_bytes: usize) {}

impl Core {
    /// Does nothing: on this host nothing is ever translated.
    pub fn set_translation(&mut self, _times: u32) {}

    pub(crate) fn has_come_to_line(&self) -> bool {
        true
    }
    pub(crate) fn run_blocks<B: Bus>(&mut self, _: &mut B, own: &mut Translator, _: &Text) -> Ran {
        match *own {}
    }
    pub(crate) fn left_at(&self, own: &Translator) -> Option<*const u8> {
        match *own {}
    }
    pub(crate) fn go_through<B: Bus>(
        &mut self,
        _: &mut B,
        own: &mut Translator,
        _: &Text,
        _: *const u8,
    ) -> Ran {
        match *own {}
    }
}
