//! What iperf3 prints as JSON and is none: numbers as C writes them.

/// A document of iperf3 with `null` in place of `nan`, `-nan` and `inf`, which iperf3 up to 3.1
/// prints for what it cannot compute.
pub fn without_nan(json: &str) -> String {
    ["-nan", "nan", "inf"].iter().fold(json.to_owned(), |text, word| {
        text.replace(&format!("\t{word}"), "\tnull").replace(&format!(":{word}"), ":null")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_null() {
        let text = "{\"end\":{\"x\":\t-nan,\"y\":nan,\"z\":\tinf,\"name\":\"nan\"}}";
        let expected = "{\"end\":{\"x\":\tnull,\"y\":null,\"z\":\tnull,\"name\":\"nan\"}}";
        assert_eq!(without_nan(text), expected);
    }
}
