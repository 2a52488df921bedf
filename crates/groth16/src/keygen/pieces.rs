//! Pieces of work that overlap and are taken in their order.

use std::sync::mpsc::sync_channel;
use std::thread;

use crate::Groth16Error;

/// Pieces that are made at a time: a device computes one while another comes back and a third is encoded.
const MAKERS: usize = 3;

/// Makes the pieces `0..count` on threads of their own and takes each on this one, in their order. Each thread has one
/// piece at most that is made and not yet taken. Ends at the first error.
pub fn in_order<T: Send>(
    count: usize,
    make: impl Fn(usize) -> Result<T, Groth16Error> + Sync,
    mut take: impl FnMut(T) -> Result<(), Groth16Error>,
) -> Result<(), Groth16Error> {
    thread::scope(|scope| {
        let start = |maker: usize| {
            let (send, receive) = sync_channel(0);
            let make = &make;
            scope.spawn(move || {
                for piece in (maker..count).step_by(MAKERS) {
                    let made = make(piece);
                    let failed = made.is_err();
                    if send.send(made).is_err() || failed {
                        return;
                    }
                }
            });
            receive
        };
        let makers: Vec<_> = (0..MAKERS.min(count)).map(start).collect();
        for piece in 0..count {
            let ended = |_| Groth16Error::Thread("ended without a result".to_owned());
            take(makers[piece % MAKERS].recv().map_err(ended)??)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn failure(piece: usize) -> Groth16Error {
        Groth16Error::Thread(piece.to_string())
    }

    #[test]
    fn pieces_come_in_their_order() {
        for count in [0, 1, MAKERS - 1, MAKERS, MAKERS + 1, 100] {
            let mut taken = Vec::new();
            let done = in_order(count, Ok, |piece| {
                taken.push(piece);
                Ok(())
            });
            assert!(done.is_ok());
            assert!(taken.into_iter().eq(0..count));
        }
    }

    #[test]
    fn an_error_ends_it() {
        let made = AtomicUsize::new(0);
        let make = |piece| {
            made.fetch_add(1, Ordering::Relaxed);
            if piece == 7 {
                Err(failure(piece))
            } else {
                Ok(piece)
            }
        };
        let mut taken = 0;
        let done = in_order(1000, make, |_| {
            taken += 1;
            Ok(())
        });
        assert!(matches!(done, Err(Groth16Error::Thread(text)) if text == "7"));
        assert_eq!(taken, 7);
        assert!(made.into_inner() <= 7 + 2 * MAKERS);
        let done = in_order(1000, Ok, |piece| {
            if piece == 3 {
                Err(failure(piece))
            } else {
                Ok(())
            }
        });
        assert!(matches!(done, Err(Groth16Error::Thread(text)) if text == "3"));
    }
}
