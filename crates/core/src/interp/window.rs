//! The identifiers below a sweep's newest record, as bits and small numbers in pages that are allocated on first use.
//!
//! Records of one graph have close identifiers, so a page is dense. A much older record costs one entry of the page directory per 512
//! identifiers in between, not a bit each.

/// Identifiers per page. A page is cleared for every sweep, even for a graph of ten records.
const PAGE: usize = 512;
const WORDS: usize = PAGE / 64;

struct Page {
    seen: [u64; WORDS],
    needed: [u64; WORDS],
    pending: [u64; WORDS],
    /// For a pending identifier: its index in the sweep's list.
    place: [u32; PAGE],
}

/// Bits and indices for every identifier from `top` downward.
pub struct Window {
    top: u64,
    pages: Vec<Option<Box<Page>>>,
    /// Nothing is pending above this distance from the top.
    cursor: usize,
}

impl Window {
    pub fn below(top: u64) -> Window {
        Window { top, pages: Vec::new(), cursor: 0 }
    }

    pub fn top(&self) -> u64 {
        self.top
    }

    #[inline(always)]
    fn locate(&mut self, id: u64) -> (&mut Page, usize) {
        let distance = (self.top - id) as usize;
        let number = distance / PAGE;
        if !self.pages.get(number).is_some_and(Option::is_some) {
            self.make_page(number);
        }
        (self.pages[number].as_mut().expect("it was just made"), distance % PAGE)
    }

    #[cold]
    fn make_page(&mut self, number: usize) {
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let page = Page { seen: [0; WORDS], needed: [0; WORDS], pending: [0; WORDS], place: [0; PAGE] };
        self.pages[number] = Some(Box::new(page));
    }

    /// Marks an identifier as seen; false if it already was.
    #[inline]
    pub fn see(&mut self, id: u64) -> bool {
        let (page, at) = self.locate(id);
        let (word, bit) = (&mut page.seen[at / 64], 1 << (at % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub fn need(&mut self, id: u64) {
        let (page, at) = self.locate(id);
        page.needed[at / 64] |= 1 << (at % 64);
    }

    pub fn is_needed(&mut self, id: u64) -> bool {
        let (page, at) = self.locate(id);
        page.needed[at / 64] >> (at % 64) & 1 == 1
    }

    /// The index of a pending identifier.
    #[inline]
    pub fn pending(&mut self, id: u64) -> Option<usize> {
        let (page, at) = self.locate(id);
        (page.pending[at / 64] >> (at % 64) & 1 == 1).then_some(page.place[at] as usize)
    }

    #[inline]
    pub fn set_pending(&mut self, id: u64, place: usize) {
        debug_assert!((self.top - id) as usize >= self.cursor, "a consumer is older than what it consumes");
        let (page, at) = self.locate(id);
        page.pending[at / 64] |= 1 << (at % 64);
        page.place[at] = place as u32;
    }

    /// Removes the newest pending identifier and returns its index. All of its consumers are newer, so they are done.
    #[inline]
    pub fn pop_newest(&mut self) -> Option<usize> {
        loop {
            let (page_number, at) = (self.cursor / PAGE, self.cursor % PAGE);
            match self.pages.get_mut(page_number)? {
                None => self.cursor = (page_number + 1) * PAGE,
                Some(page) => {
                    let rest = page.pending[at / 64] >> (at % 64);
                    if rest == 0 {
                        self.cursor = (self.cursor / 64 + 1) * 64;
                        continue;
                    }
                    self.cursor += rest.trailing_zeros() as usize;
                    let at = self.cursor % PAGE;
                    page.pending[at / 64] &= !(1 << (at % 64));
                    return Some(page.place[at] as usize);
                }
            }
        }
    }
}
