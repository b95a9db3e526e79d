//! Reasons for which an end of the association gives up.

use block::{GrantError, Notice};
use rank::ConnectionError;
use std::io;

/// Reason for which an end gives up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    #[error("the association: {0}")]
    Association(#[from] AssociationError),
    #[error("the stream of disk requests: {0}")]
    Stream(#[from] StreamError),
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Reason for which initiator and target do not associate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AssociationError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("what is no association has come")]
    Unread,
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error("the target's disks have {granted} bytes, and {wanted} are wanted")]
    Size { granted: u64, wanted: u64 },
    #[error("they are associated already")]
    Twice,
}

/// Mistake in the stream of requests, or in what they come to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    /// Standard input or output.
    #[error(transparent)]
    File(#[from] io::Error),
    #[error("what is no request has come")]
    Unread,
    #[error("a request without a number comes while others are under way")]
    Unnumbered,
    #[error("a request is not of whole sectors, or too long")]
    Length,
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Something that an end does not expect of the other, or of the network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("a message of a queue was spoilt, and a crossbar's cards are not reset")]
    Spoilt,
    #[error("what is no command has come")]
    Command,
    #[error("a completion has come for slot {0}, which has no command")]
    Completion(u64),
    #[error("request {0} has failed")]
    Request(u64),
    #[error("what is no notice has come")]
    Unread,
    #[error("the target tells something else than its state")]
    State,
    #[error("the target does not begin anew")]
    Begin,
    #[error("the initiator tells {0:?}")]
    Notice(Notice),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_one_sentence() {
        for (why, sentence) in [
            (ConnectionError::Closed.into(), "the other side has closed the connection"),
            (AssociationError::Unread, "what is no association has come"),
            (GrantError::Queues.into(), "initiator and target have queues of different lengths"),
            (
                AssociationError::Size { granted: 512, wanted: 1024 },
                "the target's disks have 512 bytes, and 1024 are wanted",
            ),
            (AssociationError::Twice, "they are associated already"),
        ] {
            assert_eq!(why.to_string(), sentence);
            let whole = StorageError::from(why).to_string();
            assert_eq!(whole, format!("the association: {sentence}"));
        }
        for (why, sentence) in [
            (io::Error::other("it is closed").into(), "it is closed"),
            (StreamError::Unread, "what is no request has come"),
            (
                StreamError::Unnumbered,
                "a request without a number comes while others are under way",
            ),
            (StreamError::Length, "a request is not of whole sectors, or too long"),
            (ServiceError::Command.into(), "what is no command has come"),
        ] {
            assert_eq!(why.to_string(), sentence);
            let whole = StorageError::from(why).to_string();
            assert_eq!(whole, format!("the stream of disk requests: {sentence}"));
        }
        for (why, sentence) in [
            (ConnectionError::Closed.into(), "the other side has closed the connection"),
            (
                ServiceError::Spoilt,
                "a message of a queue was spoilt, and a crossbar's cards are not reset",
            ),
            (ServiceError::Command, "what is no command has come"),
            (ServiceError::Completion(9), "a completion has come for slot 9, which has no command"),
            (ServiceError::Request(4), "request 4 has failed"),
            (ServiceError::Unread, "what is no notice has come"),
            (ServiceError::State, "the target tells something else than its state"),
            (ServiceError::Begin, "the target does not begin anew"),
            (
                ServiceError::Notice(Notice::Ready { come: 3 }),
                "the initiator tells Ready { come: 3 }",
            ),
        ] {
            assert_eq!(why.to_string(), sentence);
            assert_eq!(StorageError::from(why).to_string(), sentence);
        }
    }
}
