//! Instructions of a loop, and pairs of them that become one.

use crate::rules::Arithmetic;
use smallvec::SmallVec;
use wengert_kernels::tiled::Instruction;

/// A value before operands are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Operand(usize),
    Instruction(usize),
}

/// An instruction with what it reads.
pub(super) struct Draft {
    pub instruction: Instruction,
    pub inputs: SmallVec<[Value; 3]>,
    /// What it is, if it can be half of a pair.
    pub arithmetic: Option<Arithmetic>,
}

/// The instructions, where arithmetic that one other instruction alone reads is a part of that. `written` are values that leave the
/// loop.
pub(super) fn paired(mut drafts: Vec<Draft>, written: &mut [&mut Value]) -> Vec<Draft> {
    let mut uses = vec![0u32; drafts.len()];
    let read = drafts.iter().flat_map(|draft| draft.inputs.iter().copied());
    let leaving = written.iter().map(|value| **value);
    for value in read.chain(leaving) {
        if let Value::Instruction(number) = value {
            uses[number] += 1;
        }
    }
    let mut is_gone = vec![false; drafts.len()];
    for number in 0..drafts.len() {
        let Some(place) = (0..drafts[number].inputs.len()).find(|&place| is_half(&drafts, &uses, number, place)) else {
            continue;
        };
        let Value::Instruction(inner) = drafts[number].inputs[place] else { unreachable!("it is an instruction") };
        let (Some(first), Some(then)) = (drafts[inner].arithmetic, drafts[number].arithmetic) else { continue };
        let other = drafts[number].inputs[1 - place];
        let mut inputs = drafts[inner].inputs.clone();
        inputs.push(other);
        let Instruction::Lane { lane, dtype, .. } = &mut drafts[number].instruction else { continue };
        let Some(both) = first.then(then, place == 1, *dtype) else { continue };
        *lane = both;
        drafts[number].inputs = inputs;
        drafts[number].arithmetic = None;
        is_gone[inner] = true;
    }
    let mut left = 0;
    let now: Vec<usize> = is_gone
        .iter()
        .map(|is_gone| {
            left += usize::from(!is_gone);
            left - usize::from(!is_gone)
        })
        .collect();
    let mut number = 0..;
    drafts.retain(|_| !is_gone[number.next().expect("without end")]);
    let all = drafts.iter_mut().flat_map(|draft| &mut draft.inputs).chain(written.iter_mut().map(|value| &mut **value));
    for value in all {
        if let Value::Instruction(number) = value {
            *number = now[*number];
        }
    }
    drafts
}

/// Whether what an instruction reads at a place is arithmetic that nobody else reads.
fn is_half(drafts: &[Draft], uses: &[u32], number: usize, place: usize) -> bool {
    let Value::Instruction(inner) = drafts[number].inputs[place] else { return false };
    drafts[number].arithmetic.is_some() && drafts[inner].arithmetic.is_some() && uses[inner] == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use std::sync::Arc;

    fn draft(name: &str, inputs: &[Value]) -> Draft {
        let lane = Arc::new(|_: &[&[u8]], _: &mut [u8]| ());
        let instruction = Instruction::Lane { lane, inputs: SmallVec::new(), dtype: DType::F32 };
        Draft { instruction, inputs: inputs.iter().copied().collect(), arithmetic: Arithmetic::named(name) }
    }

    #[test]
    fn what_one_instruction_reads_alone_becomes_a_part_of_it() {
        let (a, i) = (Value::Operand, Value::Instruction);
        let drafts = vec![
            draft("mul", &[a(0), a(1)]),
            draft("add", &[i(0), a(2)]), // (a0 a1) + a2
            draft("tanh", &[i(1)]),
            draft("sub", &[i(2), a(0)]), // read twice
            draft("mul", &[i(3), i(3)]),
            draft("sub", &[a(1), i(4)]), // a1 - i3 i3
        ];
        let mut last = i(5);
        let drafts = paired(drafts, &mut [&mut last]);
        let inputs: Vec<&[Value]> = drafts.iter().map(|draft| &draft.inputs[..]).collect();
        let right: [&[Value]; 4] = [&[a(0), a(1), a(2)], &[i(0)], &[i(1), a(0)], &[i(2), i(2), a(1)]];
        assert_eq!(inputs, right);
        assert_eq!(last, i(3));
    }

    #[test]
    fn what_leaves_the_loop_stays() {
        let (a, i) = (Value::Operand, Value::Instruction);
        let drafts = vec![draft("mul", &[a(0), a(1)]), draft("add", &[i(0), a(2)])];
        let (mut product, mut sum) = (i(0), i(1));
        assert_eq!(paired(drafts, &mut [&mut product, &mut sum]).len(), 2);
        assert_eq!((product, sum), (i(0), i(1)));
    }
}
