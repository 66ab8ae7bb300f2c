//! Text as HTML.

/// Text for HTML.
///
/// ```
/// use wengert_pages::site::escaped;
/// assert_eq!(escaped("a < b && \"c\""), "a &lt; b &amp;&amp; &quot;c&quot;");
/// ```
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
