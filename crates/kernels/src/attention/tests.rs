use super::*;
use crate::set_threads;
use crate::view::samples::Numbers;

fn random<T: Float>(length: usize, seed: u32) -> Vec<T> {
    let mut numbers = Numbers::new(seed);
    (0..length).map(|_| T::from_f64(numbers.next() as f64 / 2147483648.0 - 1.0)).collect()
}

/// A reference in `f64` that stores the score matrix: `out, lse, dq, dk, dv`, all contiguous.
fn naive<T: Float>(sizes: &Attention<'_, T>, inputs: [&Heads<'_, T>; 4]) -> [Vec<f64>; 5] {
    let Attention { batches, heads, queries, keys, width, value_width, .. } = *sizes;
    let [mut out, mut lse, mut dq, mut dk, mut dv] = [(); 5].map(|()| vec![]);
    for index in 0..batches * heads {
        let (b, h) = sizes.head(index);
        let get = |array: &Heads<'_, T>, t: usize, d: usize| array.data[array.place.start(b, h, t) + d].to_f64();
        let [q, k, v, g] = inputs;
        let score = |i: usize, j: usize| {
            let product: f64 = (0..width).map(|d| get(q, i, d) * get(k, j, d)).sum();
            let added = sizes.mask.map_or(0.0, |mask| {
                let at = b * mask.batch + h * mask.head + i * mask.query + j * mask.key;
                match mask.data {
                    MaskData::Added(numbers) => numbers[at].to_f64(),
                    MaskData::Seen(truths) => [f64::NEG_INFINITY, 0.0][truths[at] as usize],
                }
            });
            if sizes.causal && j > i { f64::NEG_INFINITY } else { product * sizes.scale.to_f64() + added }
        };
        let (mut one_dq, mut one_dk) = (vec![0.0; queries * width], vec![0.0; keys * width]);
        let mut one_dv = vec![0.0; keys * value_width];
        for i in 0..queries {
            let scores: Vec<f64> = (0..keys).map(|j| score(i, j)).collect();
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shift = if largest.is_finite() { largest } else { 0.0 };
            let total: f64 = scores.iter().map(|s| (s - shift).exp()).sum();
            lse.push(shift + total.ln());
            let p: Vec<f64> =
                scores.iter().map(|s| if total == 0.0 { 0.0 } else { (s - shift).exp() / total }).collect();
            out.extend((0..value_width).map(|d| (0..keys).map(|j| p[j] * get(v, j, d)).sum::<f64>()));
            let dp: Vec<f64> = (0..keys).map(|j| (0..value_width).map(|d| get(g, i, d) * get(v, j, d)).sum()).collect();
            let delta: f64 = p.iter().zip(&dp).map(|(p, dp)| p * dp).sum();
            for j in 0..keys {
                let ds = p[j] * (dp[j] - delta) * sizes.scale.to_f64();
                for d in 0..width {
                    one_dq[i * width + d] += ds * get(k, j, d);
                    one_dk[j * width + d] += ds * get(q, i, d);
                }
                for d in 0..value_width {
                    one_dv[j * value_width + d] += p[j] * get(g, i, d);
                }
            }
        }
        dq.extend(one_dq);
        dk.extend(one_dk);
        dv.extend(one_dv);
    }
    [out, lse, dq, dk, dv]
}

/// The contents of a strided array in the order `[batches, heads, tokens, width]`.
fn gathered<T: Float>(data: &[T], place: Place, [batches, heads, tokens, width]: [usize; 4]) -> Vec<T> {
    let mut values = vec![];
    for (b, h) in (0..batches * heads).map(|index| (index / heads, index % heads)) {
        for t in 0..tokens {
            values.extend_from_slice(&data[place.start(b, h, t)..][..width]);
        }
    }
    values
}

fn assert_near<T: Float>(ours: &[T], exact: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), exact.len(), "{what}");
    for (ours, &exact) in ours.iter().zip(exact) {
        let ours = ours.to_f64();
        assert!(ours == exact || (ours - exact).abs() <= tolerance * exact.abs().max(1.0), "{what}: {ours}, {exact}");
    }
}

/// Forward and gradient, the gradients together in one array when the sizes allow, for several thread counts.
fn check<T: Float>(sizes: &Attention<'_, T>, joint: bool) {
    let Attention { batches, heads, queries, keys, width, value_width, .. } = *sizes;
    let tolerance = if size_of::<T>() == 4 { 1e-5 } else { 1e-13 };
    let projection: Vec<T> = random(batches * queries * 3 * heads * width, 1);
    let (other_k, other_v) =
        (random(batches * heads * keys * width, 2), random(batches * heads * keys * value_width, 3));
    let spacing = heads * width;
    let place =
        |index: usize| Place { offset: index * spacing, batch: queries * 3 * spacing, head: width, token: 3 * spacing };
    let q = Heads { data: &projection, place: place(0) };
    let (k, v) = match joint {
        true => (Heads { place: place(1), ..q }, Heads { place: place(2), ..q }),
        false => (
            Heads { data: &other_k, place: Place::contiguous(heads, keys, width) },
            Heads { data: &other_v, place: Place::contiguous(heads, keys, value_width) },
        ),
    };
    // The output and its cotangent as [batches, queries, heads, value_width].
    let out_place =
        Place { offset: 0, batch: queries * heads * value_width, head: value_width, token: heads * value_width };
    let g: Vec<T> = random(batches * queries * heads * value_width, 4);
    let g = Heads { data: &g, place: out_place };
    let exact = naive(sizes, [&q, &k, &v, &g]);
    let mut first: Option<Vec<Vec<T>>> = None;
    for threads in [1, 2, 3, 7] {
        set_threads(threads);
        let nine = T::from_f64(9.0);
        let (mut out, mut lse) = (vec![nine; g.data.len()], vec![nine; batches * heads * queries]);
        attention(sizes, q, k, v, HeadsMut { data: &mut out, place: out_place }, &mut lse);
        let saved = Saved { q, k, v, out: Heads { data: &out, place: out_place }, lse: &lse };
        let shape = |tokens, width| [batches, heads, tokens, width];
        let [dq, dk, dv] = if joint {
            let mut d = vec![nine; projection.len()];
            let to = AttentionGradient::Together { data: &mut d, place: place(0), spacing };
            attention_gradient(sizes, saved, g, to);
            [0, 1, 2].map(|index| gathered(&d, place(index), shape(queries, width)))
        } else {
            let mut d = [(queries, width), (keys, width), (keys, value_width)]
                .map(|(tokens, width)| vec![nine; batches * heads * tokens * width]);
            let [dq, dk, dv] = &mut d;
            let to = AttentionGradient::Apart {
                dq: HeadsMut { data: dq, place: Place::contiguous(heads, queries, width) },
                dk: HeadsMut { data: dk, place: Place::contiguous(heads, keys, width) },
                dv: HeadsMut { data: dv, place: Place::contiguous(heads, keys, value_width) },
            };
            attention_gradient(sizes, saved, g, to);
            d
        };
        let results = vec![gathered(&out, out_place, shape(queries, value_width)), lse, dq, dk, dv];
        for ((ours, exact), what) in results.iter().zip(&exact).zip(["out", "lse", "dq", "dk", "dv"]) {
            assert_near(ours, exact, tolerance, &format!("{what} of {sizes:?}"));
        }
        let first = first.get_or_insert_with(|| results.clone());
        for (first, ours) in first.iter().zip(&results) {
            assert_eq!(bytemuck::cast_slice::<T, u8>(first), bytemuck::cast_slice::<T, u8>(ours), "{threads} threads");
        }
    }
}

fn sizes<T: Float>(counts: [usize; 6], causal: bool) -> Attention<'static, T> {
    let [batches, heads, queries, keys, width, value_width] = counts;
    let scale = T::from_f64(1.0 / (width.max(1) as f64).sqrt());
    Attention { batches, heads, queries, keys, width, value_width, scale, causal, mask: None }
}

fn attention_equals_naive_loops<T: Float>() {
    for counts in [
        [1, 1, 1, 1, 1, 1],
        [2, 3, 5, 7, 3, 2],
        [1, 2, 130, 70, 8, 8],
        [1, 2, 70, 300, 8, 5],
        [3, 3, 66, 66, 16, 16],
        [2, 4, 200, 150, 4, 4],
        [0, 2, 3, 3, 4, 4],
        [2, 2, 0, 3, 4, 4],
        [2, 2, 3, 0, 4, 4],
        [2, 2, 3, 3, 0, 4],
        [2, 2, 3, 3, 4, 0],
    ] {
        for causal in [false, true] {
            check::<T>(&sizes(counts, causal), false);
            if counts[2] == counts[3] && counts[4] == counts[5] {
                check::<T>(&sizes(counts, causal), true);
            }
        }
    }
}

#[test]
fn attention_and_its_gradient_equal_naive_loops_in_f32() {
    attention_equals_naive_loops::<f32>();
}

#[test]
fn attention_and_its_gradient_equal_naive_loops_in_f64() {
    attention_equals_naive_loops::<f64>();
}

#[test]
fn masks_broadcast_and_hidden_rows_give_zeros() {
    let (b, h, n, m) = (2, 5, 70, 140);
    let mut numbers = Numbers::new(3);
    let mut full: Vec<f64> = (0..b * h * n * m)
        .map(|_| if numbers.below(3) == 0 { f64::NEG_INFINITY } else { numbers.below(100) as f64 / 50.0 })
        .collect();
    // Hide query 3 from all keys, and the first key block from query 4.
    for head in full.chunks_mut(n * m) {
        head[3 * m..4 * m].fill(f64::NEG_INFINITY);
        head[4 * m..4 * m + 128].fill(f64::NEG_INFINITY);
    }
    let seen: Vec<u8> = full.iter().map(|x| u8::from(x.is_finite())).collect();
    for data in [MaskData::Added(&full[..]), MaskData::Seen(&seen[..])] {
        for mask in [
            Mask { data, batch: h * n * m, head: n * m, query: m, key: 1 },
            Mask { data, batch: 0, head: 0, query: m, key: 1 },
            Mask { data, batch: m, head: 0, query: 0, key: 1 },
            Mask { data, batch: 0, head: 1, query: 1, key: 0 },
            Mask { data, batch: 0, head: 0, query: 1, key: n },
        ] {
            for causal in [false, true] {
                check(&Attention { mask: Some(mask), ..sizes([b, h, n, m, 4, 4], causal) }, false);
            }
        }
    }
}

#[test]
#[should_panic(expected = "overlap")]
fn an_output_whose_tokens_overlap_is_refused() {
    let data = [0f32; 64];
    let place = Place { offset: 0, batch: 16, head: 4, token: 3 };
    let q = Heads { data: &data, place };
    attention(&sizes([1, 2, 4, 4, 4, 4], false), q, q, q, HeadsMut { data: &mut [0f32; 64], place }, &mut [0.0; 8]);
}

#[test]
#[should_panic(expected = "leaves 31 elements")]
fn an_array_that_is_too_short_is_refused() {
    let place = Place::contiguous(2, 4, 4);
    let q = Heads { data: &[0f32; 31], place };
    attention(&sizes([1, 2, 4, 4, 4, 4], false), q, q, q, HeadsMut { data: &mut [0f32; 32], place }, &mut [0.0; 8]);
}
