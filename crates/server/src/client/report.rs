//! Shows errors, notices and notifications as psql does, with their SQLSTATEs.

use super::connection::Notification;
use super::error::Told;

/// Returns what is printed of an error of the statement `text`, or of a notice.
pub fn report(told: &Told, text: &str) -> String {
    let mut out = format!("{told}\n");
    if let Some(position) = told.position {
        out.push_str(&pointed(text, position));
    }
    let more = [("DETAIL", &told.detail), ("HINT", &told.hint), ("CONTEXT", &told.context)];
    for (name, value) in more {
        if let Some(value) = value {
            out.push_str(&format!("{name}:  {value}\n"));
        }
    }
    out
}

/// Returns what is printed of a notification.
pub fn notified(notification: &Notification) -> String {
    let Notification { process, channel, payload } = notification;
    let with = if payload.is_empty() { String::new() } else { format!(" with payload \"{payload}\"") };
    format!("Asynchronous notification \"{channel}\"{with} received from server process with PID {process}.\n")
}

/// The line of a text in which a position lies, counted in characters from 1, and a mark below it.
fn pointed(text: &str, position: usize) -> String {
    let before: Vec<char> = text.chars().take(position.saturating_sub(1)).collect();
    let number = before.iter().filter(|c| **c == '\n').count() + 1;
    let column = before.iter().rev().take_while(|c| **c != '\n').count();
    let Some(line) = text.split('\n').nth(number - 1) else { return String::new() };
    let line = line.trim_end_matches('\r').replace('\t', " ");
    let head = format!("LINE {number}: ");
    // Wide characters before it move the mark.
    let shown: String = line.chars().take(column).collect();
    let blank = head.len() + unicode_width::UnicodeWidthStr::width(&*shown);
    format!("{head}{line}\n{}^\n", " ".repeat(blank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_is_shown_with_what_was_sent() {
        let sent = |payload: &str| Notification { process: 7, channel: "c".to_owned(), payload: payload.to_owned() };
        let shown = "Asynchronous notification \"c\" received from server process with PID 7.\n";
        assert_eq!(notified(&sent("")), shown);
        let shown = "Asynchronous notification \"c\" with payload \"a \"b\" received from server process with PID 7.\n";
        assert_eq!(notified(&sent("a \"b")), shown);
    }

    #[test]
    fn the_place_of_an_error_is_marked() {
        let told = Told {
            severity: "ERROR".to_owned(),
            code: "42703".to_owned(),
            message: "column \"x\" does not exist".to_owned(),
            hint: Some("Try y.".to_owned()),
            position: Some(13),
            ..Told::default()
        };
        let shown = report(&told, "SELECT 'ä',\n x FROM t");
        let marked = "ERROR:  42703: column \"x\" does not exist\nLINE 2:  x FROM t\n        ^\nHINT:  Try y.\n";
        assert_eq!(shown, marked);
        assert_eq!(pointed("SELECT 'ä', x", 13), "LINE 1: SELECT 'ä', x\n                    ^\n");
        assert_eq!(pointed("", 5), "LINE 1: \n        ^\n");
    }
}
