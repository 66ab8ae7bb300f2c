//! Traversals of trees.

use std::collections::{BTreeMap, HashMap};
use wengert_core::tree::{TENSOR, Word, difference};
use wengert_core::{Tensor, Tree, TreePath};

fn leaf() -> Tensor {
    Tensor::from(0.0)
}

fn names(tree: &impl Tree) -> Vec<String> {
    tree.named_leaves().into_iter().map(|(name, _)| name).collect()
}

type Everything =
    ([Tensor; 2], Vec<Box<Tensor>>, Option<(Tensor,)>, BTreeMap<u8, Tensor>, HashMap<String, Vec<Tensor>>, ());

fn everything() -> Everything {
    (
        [leaf(), leaf()],
        vec![Box::new(leaf())],
        Some((leaf(),)),
        BTreeMap::from([(10, leaf()), (9, leaf())]),
        HashMap::from(["c", "a", "b"].map(|key| (key.to_string(), vec![leaf()]))),
        (),
    )
}

#[test]
fn every_walk_meets_the_same_leaves_in_the_same_order() {
    let tree = everything();
    let expected = ["0.0", "0.1", "1.0", "2.0", "3.9", "3.10", "4.a.0", "4.b.0", "4.c.0"].map(String::from);
    assert_eq!(names(&tree), expected);

    let mut mapped = Vec::new();
    let copy = tree.map(&mut TreePath::root(), &mut |path, leaf| {
        mapped.push(path.to_string());
        leaf.clone()
    });
    assert_eq!(mapped, expected);
    assert_eq!(difference(&tree, &copy), None);

    let structure = tree.structure();
    let described = structure.iter().filter(|(_, word)| word == TENSOR);
    assert!(described.map(|(path, _)| path).eq(&expected));
}

#[test]
fn descriptions_stand_where_they_are_met() {
    let tree = (leaf(), Some(vec![leaf()]), BTreeMap::from([("k", None::<Tensor>)]));
    let expected =
        [("0", "tensor"), ("1", "some"), ("1", "length 1"), ("1.0", "tensor"), ("2", "keys [\"k\"]"), ("2.k", "none")];
    assert!(tree.structure().iter().map(|(p, d)| (p.as_str(), d.as_str())).eq(expected));
}

#[test]
fn a_difference_names_the_place_and_both_sides() {
    let sentence = |a: Vec<Option<Tensor>>, b: Vec<Option<Tensor>>| difference(&a, &b).unwrap();
    assert_eq!(sentence(vec![], vec![None]), "the root: length 0 on the left, length 1 on the right");
    assert_eq!(sentence(vec![None, Some(leaf())], vec![None, None]), "1: some on the left, none on the right");
    assert_eq!(difference(&(leaf(), leaf()), &(leaf(),)).unwrap(), "1: a tensor on the left, nothing on the right");
    assert_eq!(difference(&((), leaf()), &(leaf(), leaf())).unwrap(), "0: nothing on the left, a tensor on the right");
    assert_eq!(
        difference(&BTreeMap::from([("a", ())]), &BTreeMap::from([("b", ())])).unwrap(),
        "the root: keys [\"a\"] on the left, keys [\"b\"] on the right"
    );
    let keys = |keys: &[&'static str]| keys.iter().map(|key| (*key, ())).collect::<BTreeMap<_, _>>();
    assert!(difference(&keys(&["a, b"]), &keys(&["a", "b"])).is_some());
}

#[test]
fn an_order_of_its_own_is_a_difference() {
    struct Swapped([Tensor; 2]);
    impl Tree for Swapped {
        fn visit<'a>(&'a self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &'a Tensor)) {
            path.within(1, |path| self.0[1].visit(path, f));
            path.within(0, |path| self.0[0].visit(path, f));
        }

        fn map(&self, path: &mut TreePath, f: &mut dyn FnMut(&TreePath, &Tensor) -> Tensor) -> Self {
            let second = path.within(1, |path| self.0[1].map(path, f));
            let first = path.within(0, |path| self.0[0].map(path, f));
            Swapped([first, second])
        }
    }
    let leaves = [leaf(), leaf()];
    assert_eq!(
        difference(&leaves, &Swapped(leaves.clone())).unwrap(),
        "0: before 1 on the left, after it on the right"
    );
}

#[test]
#[should_panic(expected = "rebuild: no tensor for `1`: 1 given, 2 wanted")]
fn rebuild_refuses_too_few_tensors() {
    (leaf(), leaf()).rebuild([leaf()]);
}

#[test]
#[should_panic(expected = "rebuild: a tensor is left over: 1 wanted, more given")]
fn rebuild_refuses_too_many_tensors() {
    (leaf(),).rebuild([leaf(), leaf()]);
}

#[test]
fn words_are_written_as_they_are_displayed() {
    let mut text = String::new();
    for number in [0, 9, 10, 105, 1_000_000, usize::MAX] {
        text.clear();
        ("block", &number).push_to(&mut text);
        assert_eq!(text, format!("block{number}"));
    }
    assert_eq!(names(&BTreeMap::from([('b', vec![leaf(); 11])]))[10], "b.10");
}
