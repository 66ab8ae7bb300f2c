//! Tokens and windows of them.

use wengert::nn::data::{Data, Loader, Text, Windows};
use wengert::prelude::*;

#[test]
fn characters_are_tokens_in_sorted_order() {
    let text = Text::new("banané\n");
    assert_eq!(text.characters(), ['\n', 'a', 'b', 'n', 'é']);
    assert_eq!(text.tokens(), 5);
    let tokens = text.encode("né").unwrap();
    assert_eq!((tokens.dtype(), &tokens), (DType::I64, &Tensor::from([3i64, 4])));
    assert_eq!(text.decode(&tokens).unwrap(), "né");
    assert_eq!(text.encode("").unwrap().shape(), [0]);
    assert_eq!(text.encode("nx").unwrap_err().message(), "character 1 of the text, 'x', is not in the vocabulary");
    assert_eq!(*text.decode(&Tensor::from([5i64])).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(*text.decode(&Tensor::from([-1i64])).unwrap_err().kind(), ErrorKind::Range);
    assert!(matches!(text.decode(&Tensor::from([1.0])).unwrap_err().kind(), ErrorKind::DType(_)));
}

#[test]
fn bytes_are_tokens_of_any_text() {
    let text = Text::bytes();
    assert_eq!(text.tokens(), 256);
    let tokens = text.encode("é!").unwrap();
    assert_eq!(tokens, Tensor::from([195i64, 169, 33]));
    assert_eq!(text.decode(&tokens).unwrap(), "é!");
    assert_eq!(text.decode(&Tensor::from([195i64, 33])).unwrap(), "\u{fffd}!");
    assert_eq!(*text.decode(&Tensor::from([256i64])).unwrap_err().kind(), ErrorKind::Range);
}

#[test]
fn windows_pair_tokens_with_the_next_ones() {
    let tokens = Tensor::arange(10..20);
    let windows = Windows::new(&tokens, 4).unwrap();
    assert_eq!(windows.len(), 6);
    let (input, target) = windows.batch(&[5, 0]).unwrap();
    assert_eq!(input, Tensor::from([[15i64, 16, 17, 18], [10, 11, 12, 13]]));
    assert_eq!(target, Tensor::from([[16i64, 17, 18, 19], [11, 12, 13, 14]]));
    assert_eq!(*windows.batch(&[6]).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(windows.batch(&[]).unwrap().0.shape(), [0, 4]);

    let apart = windows.clone().step(4);
    assert_eq!(apart.len(), 2);
    assert_eq!(apart.batch(&[1]).unwrap().1, Tensor::from([[15i64, 16, 17, 18]]));
    assert_eq!(windows.step(0).len(), 6);

    assert!(Windows::new(&tokens, 0).is_err());
    assert!(Windows::new(&tokens, 10).is_err());
    assert_eq!(Windows::new(&tokens, 9).unwrap().len(), 1);

    let mut loader = Loader::new(Windows::new(&tokens, 3).unwrap(), 3).shuffled(1).prefetch(2);
    let shapes: Vec<Vec<usize>> = loader.epoch().map(|batch| batch.unwrap().0.shape().to_vec()).collect();
    assert_eq!(shapes, [[3, 3], [3, 3], [1, 3]]);
}
