use crate::data::hard;
use wengert_view::Plot;

#[test]
fn a_small_line_as_a_picture() {
    let picture = Plot::new("Up").values("line", &[0.0, 1.0, 2.0, 3.0]).x_label("step").terminal(24, 10);
    let expected = "\
Up
3┤                   ⣀⠤⠒
2┤              ⣀⡠⠔⠊⠉
 │        ⣀⡠⠤⠒⠊⠉
1┤   ⣀⡠⠔⠊⠉
0┤⠤⠒⠉
 └┬──────┬──────┬──────┬
  0      1      2      3
           step
line
";
    assert_eq!(picture, expected, "\n{picture}");
}

#[test]
fn two_lines_have_marks_at_their_ends() {
    let plot = Plot::new("").values("falls", &[2.0, 1.0, 0.0]).values("rises", &[0.0, 1.0, 2.0]);
    let picture = plot.terminal(30, 9);
    let expected = "2┤⠒⠤⣀                    ⣀⠤⠒ B
 │   ⠉⠑⠢⢄⣀          ⢀⡠⠔⠒⠉
 │        ⠉⠒⠢⢄⡀ ⣀⠤⠒⠉⠁
1┤        ⢀⣀⠤⠔⠊⠉⠒⠤⢄⡀
 │   ⢀⣀⠤⠒⠊⠁        ⠈⠉⠒⠤⢄⡀
0┤⠤⠒⠉⠁                  ⠈⠉⠒⠤ A
 └┬────────────┬───────────┬
  0            1           2
A falls   B rises
";
    assert_eq!(picture, expected, "\n{picture}");
}

#[test]
fn colours_are_opt_in_and_change_nothing_else() {
    let plot = Plot::new("Two").values("a", &[1.0, 2.0]).values("b", &[2.0, 1.0]);
    let plain = plot.terminal(40, 12);
    assert!(!plain.contains('\x1b'));
    let coloured = plot.coloured(true).terminal(40, 12);
    assert!(coloured.contains("\x1b[34mA a\x1b[0m") && coloured.contains("\x1b[33mB b\x1b[0m"));
    let stripped = ["\x1b[34m", "\x1b[33m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
}

#[test]
fn hard_plots_stay_in_their_size() {
    for (name, plot) in hard() {
        for (width, height) in [(24, 9), (40, 10), (80, 24), (120, 50)] {
            let picture = plot.terminal(width, height);
            assert!(picture.lines().all(|line| line.chars().count() <= width), "{name}, {width}:\n{picture}");
            let legend_is_short = name != "long names";
            assert!(picture.lines().count() <= height || !legend_is_short, "{name}, {height}:\n{picture}");
            assert!(!picture.contains("NaN") && !picture.chars().any(|c| c.is_control() && c != '\n'), "{name}");
        }
        for (width, height) in [(0, 0), (1, 1000), (1000, 1), (usize::MAX, usize::MAX)] {
            assert!(plot.terminal(width, height).lines().count() >= 4, "{name}");
        }
    }
}

#[test]
fn gaps_are_blank() {
    let picture = Plot::new("").values("", &[1.0, 1.0, f64::NAN, 1.0, 1.0]).terminal(30, 6);
    let row = picture.lines().find(|line| line.contains('⠤') || line.contains('⠒') || line.contains('⠉')).unwrap();
    let drawn: String = row.chars().skip_while(|c| *c != '│' && *c != '┤').skip(1).collect();
    assert_eq!(drawn.split_whitespace().count(), 2, "{picture}");
}
