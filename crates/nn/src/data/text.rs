//! Texts as tokens, and windows of tokens.

use super::Data;
use crate::prelude::*;
use std::collections::BTreeSet;

/// A vocabulary: the characters of a text, or all bytes. Token 0 is its first character.
///
/// ```
/// use wengert::nn::data::Text;
/// use wengert::prelude::*;
/// let text = Text::new("hello");
/// assert_eq!(text.characters(), ['e', 'h', 'l', 'o']);
/// let tokens = text.encode("hole")?;
/// assert_eq!(tokens, Tensor::from([1i64, 3, 2, 0]));
/// assert_eq!(text.decode(&tokens)?, "hole");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// None: all bytes.
    characters: Option<Vec<char>>,
}

impl Text {
    /// The distinct characters of a text, sorted.
    pub fn new(text: &str) -> Text {
        let distinct: BTreeSet<char> = text.chars().collect();
        Text { characters: Some(distinct.into_iter().collect()) }
    }

    /// The 256 bytes: every text has tokens, several for a character that is not ASCII.
    ///
    /// ```
    /// use wengert::nn::data::Text;
    /// use wengert::prelude::*;
    /// assert_eq!(Text::bytes().encode("aé")?, Tensor::from([97i64, 195, 169]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bytes() -> Text {
        Text { characters: None }
    }

    /// The number of tokens of the vocabulary.
    pub fn tokens(&self) -> usize {
        self.characters.as_ref().map_or(256, Vec::len)
    }

    /// The characters of the vocabulary in the order of their tokens; none if it is that of bytes.
    pub fn characters(&self) -> &[char] {
        self.characters.as_deref().unwrap_or_default()
    }

    /// The tokens of a text, as i64, or an error if a character is not in the vocabulary.
    pub fn encode(&self, text: &str) -> Result<Tensor, Error> {
        let Some(characters) = &self.characters else {
            return Ok(Tensor::from(text.bytes().map(i64::from).collect::<Vec<_>>()));
        };
        let token = |(place, c): (usize, char)| match characters.binary_search(&c) {
            Ok(token) => Ok(token as i64),
            Err(_) => {
                let message = format!("character {place} of the text, {c:?}, is not in the vocabulary");
                Err(Error::new(ErrorKind::Argument, "encode", message))
            }
        };
        Ok(Tensor::from(text.chars().enumerate().map(token).collect::<Result<Vec<_>, Error>>()?))
    }

    /// The text of tokens, or an error if a number is not a token. Bytes that are not UTF-8 become U+FFFD.
    pub fn decode(&self, tokens: &Tensor) -> Result<String, Error> {
        let tokens = tokens.detach().try_to_vec::<i64>()?;
        let count = self.tokens();
        let place = |token: i64| {
            usize::try_from(token).ok().filter(|token| *token < count).ok_or_else(|| {
                let message = format!("{token} is not a token of a vocabulary of {count}");
                Error::new(ErrorKind::Range, "decode", message)
            })
        };
        let mut places = tokens.into_iter().map(place);
        match &self.characters {
            Some(characters) => places.map(|place| Ok(characters[place?])).collect(),
            None => {
                let bytes = places.try_fold(Vec::new(), |mut bytes, place| {
                    bytes.push(place? as u8);
                    Ok::<_, Error>(bytes)
                })?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }
}

/// Windows of a row of tokens, for models that predict the next token. An example has an input and a target of `length` tokens, the target
/// one token later.
///
/// ```
/// use wengert::nn::data::{Data, Windows};
/// use wengert::prelude::*;
/// let windows = Windows::new(&Tensor::arange(0..6), 3)?;
/// assert_eq!(windows.len(), 3);
/// let (input, target) = windows.batch(&[0, 2])?;
/// assert_eq!(input, Tensor::from([[0i64, 1, 2], [2, 3, 4]]));
/// assert_eq!(target, Tensor::from([[1i64, 2, 3], [3, 4, 5]]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windows {
    tokens: Vec<i64>,
    length: usize,
    step: usize,
}

impl Windows {
    /// All windows of i64 tokens, or an error if there is none.
    pub fn new(tokens: &Tensor, length: usize) -> Result<Windows, Error> {
        let tokens = tokens.detach().try_to_vec::<i64>()?;
        if length == 0 || tokens.len() <= length {
            let message = format!("{} tokens have no window of {length} and the token after it", tokens.len());
            return Err(Error::new(ErrorKind::Argument, "Windows", message));
        }
        Ok(Windows { tokens, length, step: 1 })
    }

    /// A window begins every `step` tokens, at least 1. With a step of the length they do not overlap.
    #[must_use]
    pub fn step(self, step: usize) -> Windows {
        Windows { step: step.max(1), ..self }
    }

    fn rows(&self, positions: &[usize], shift: usize) -> Result<Tensor, Error> {
        let mut rows = Vec::with_capacity(positions.len().saturating_mul(self.length));
        for position in positions {
            rows.extend_from_slice(&self.tokens[position * self.step + shift..][..self.length]);
        }
        Tensor::try_from_vec(rows, [positions.len(), self.length])
    }
}

impl Data for Windows {
    type Batch = (Tensor, Tensor);

    fn len(&self) -> usize {
        (self.tokens.len() - self.length).div_ceil(self.step)
    }

    fn batch(&self, positions: &[usize]) -> Result<(Tensor, Tensor), Error> {
        if let Some(position) = positions.iter().find(|position| **position >= self.len()) {
            let message = format!("there is no window {position}, only {}", self.len());
            return Err(Error::new(ErrorKind::Range, "Windows", message));
        }
        Ok((self.rows(positions, 0)?, self.rows(positions, 1)?))
    }
}
