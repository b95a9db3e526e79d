//! Trees of shared parts, and their end.

use std::rc::Rc;

/// Type with parts of its own kind, which others may share.
pub(super) trait Nested: Sized {
    /// Moves its parts to `parts`.
    fn give_parts(&mut self, parts: &mut Vec<Rc<Self>>);
}

/// Lets go of the parts of `whole`, and of theirs. A program may nest types as deep as it likes: dropping
/// them one within the other would overflow the stack.
pub(super) fn release<T: Nested>(whole: &mut T) {
    let mut parts = Vec::new();
    whole.give_parts(&mut parts);
    while let Some(part) = parts.pop() {
        if let Some(mut part) = Rc::into_inner(part) {
            part.give_parts(&mut parts);
        }
    }
}
