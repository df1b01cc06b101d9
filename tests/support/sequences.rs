//! Every sequence of moves, for the comparison of something real with a naive model of it.

/// Calls `run` with each sequence of 1 to `depth` moves, shorter ones before those that they begin: so it looks only at what the
/// last move did. Returns the number of sequences.
pub fn every_sequence<M: Copy>(moves: &[M], depth: usize, mut run: impl FnMut(&[M])) -> usize {
    let mut count = 0;
    for length in 1..=depth {
        let mut places = vec![0; length];
        let mut sequence = vec![moves[0]; length];
        loop {
            run(&sequence);
            count += 1;
            // The next sequence, as a number of `length` digits.
            let Some(at) = places.iter().rposition(|&place| place + 1 < moves.len()) else { break };
            places[at] += 1;
            places[at + 1..].fill(0);
            for (each, &place) in sequence.iter_mut().zip(&places).skip(at) {
                *each = moves[place];
            }
        }
    }
    count
}
