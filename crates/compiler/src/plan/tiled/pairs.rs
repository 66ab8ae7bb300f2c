//! The instructions of a loop, and the fusion of pairs of them.

use super::arithmetic::Arithmetic;
use smallvec::SmallVec;
use wengert_kernels::tiled::Instruction;

/// An instruction and its inputs.
pub(super) struct Draft {
    pub instruction: Instruction,
    /// The numbers of values: operands first, then instructions in order.
    pub inputs: SmallVec<[usize; 4]>,
    /// Its arithmetic operation, if it can be half of a pair.
    pub arithmetic: Option<Arithmetic>,
}

/// The instructions after `operands` operands, where an arithmetic instruction with a single reader is fused into that reader. `written`
/// are values that leave the loop.
pub(super) fn paired(operands: usize, mut drafts: Vec<Draft>, written: &mut [&mut usize]) -> Vec<Draft> {
    let mut uses = vec![0u32; operands + drafts.len()];
    let read = drafts.iter().flat_map(|draft| draft.inputs.iter().copied());
    read.chain(written.iter().map(|value| **value)).for_each(|value| uses[value] += 1);
    let mut is_gone = vec![false; operands + drafts.len()];
    for number in 0..drafts.len() {
        // The arithmetic instruction that computes an input, if nothing else reads it.
        let half = |place: &usize| {
            let inner = drafts[number].inputs[*place];
            inner >= operands && drafts[inner - operands].arithmetic.is_some() && uses[inner] == 1
        };
        let Some(then) = drafts[number].arithmetic else { continue };
        let Some(place) = (0..drafts[number].inputs.len()).find(half) else { continue };
        let inner = drafts[number].inputs[place] - operands;
        let Some(first) = drafts[inner].arithmetic else { continue };
        let mut inputs = drafts[inner].inputs.clone();
        inputs.push(drafts[number].inputs[1 - place]);
        let Instruction::Lane { lane, dtype, .. } = &mut drafts[number].instruction else { continue };
        let Some(both) = first.then(then, place == 1, *dtype) else { continue };
        *lane = both;
        drafts[number].inputs = inputs;
        drafts[number].arithmetic = None;
        is_gone[operands + inner] = true;
    }
    let mut left = 0;
    let now: Vec<usize> = is_gone
        .iter()
        .map(|is_gone| {
            left += usize::from(!is_gone);
            left - usize::from(!is_gone)
        })
        .collect();
    let mut number = operands..;
    drafts.retain(|_| !is_gone[number.next().expect("without end")]);
    let inputs = drafts.iter_mut().flat_map(|draft| &mut draft.inputs);
    inputs.chain(written.iter_mut().map(|value| &mut **value)).for_each(|value| *value = now[*value]);
    drafts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::registry::find;
    use std::sync::Arc;

    fn draft(name: &str, inputs: &[usize]) -> Draft {
        let lane = Arc::new(|_: &[&[u8]], _: &mut [u8]| ());
        let instruction = Instruction::Lane { lane, inputs: SmallVec::new(), dtype: DType::F32 };
        Draft { instruction, inputs: inputs.iter().copied().collect(), arithmetic: Arithmetic::of(find(name).unwrap()) }
    }

    #[test]
    fn what_one_instruction_reads_alone_becomes_a_part_of_it() {
        // Operands are 0, 1 and 2.
        let drafts = vec![
            draft("mul", &[0, 1]),
            draft("add", &[3, 2]), // (0 * 1) + 2
            draft("tanh", &[4]),
            draft("sub", &[5, 0]), // read twice
            draft("mul", &[6, 6]),
            draft("sub", &[1, 7]), // 1 - 6 * 6
        ];
        let mut last = 8;
        let drafts = paired(3, drafts, &mut [&mut last]);
        let inputs: Vec<&[usize]> = drafts.iter().map(|draft| &draft.inputs[..]).collect();
        let right: [&[usize]; 4] = [&[0, 1, 2], &[3], &[4, 0], &[5, 5, 1]];
        assert_eq!(inputs, right);
        assert_eq!(last, 6);
    }

    #[test]
    fn what_leaves_the_loop_stays() {
        let drafts = vec![draft("mul", &[0, 1]), draft("add", &[3, 2])];
        let (mut product, mut sum) = (3, 4);
        assert_eq!(paired(3, drafts, &mut [&mut product, &mut sum]).len(), 2);
        assert_eq!((product, sum), (3, 4));
    }
}
