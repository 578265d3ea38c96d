//! Walks the members of one object.

use super::raw::Raw;
use super::repair;
use super::scan::{has_controls, skip_space, skip_string, skip_value};

/// An object that was walked: the wanted members and what follows it.
#[derive(Debug, Clone, Copy)]
pub struct Walked<'a, const N: usize> {
    /// The values of the wanted keys, in the order asked for. Of a repeated key the last counts.
    pub values: [Option<Raw<'a>>; N],
    /// What stands after the object, without leading space. Not empty when objects are glued.
    pub rest: &'a [u8],
}

/// Whether no string in `bytes` holds a raw control character, which the grammar forbids. Asked
/// once for a whole line; what is read out of the line need not be asked again.
pub fn is_clean(bytes: &[u8]) -> bool {
    !has_controls(bytes)
        || serde_json::Deserializer::from_slice(bytes)
            .into_iter::<serde::de::IgnoredAny>()
            .all(|value| value.is_ok())
}

/// The values of `keys` in the object that `bytes` start with, or `None` if that is no object.
pub fn fields<'a, const N: usize>(bytes: &'a [u8], keys: &[&str; N]) -> Option<Walked<'a, N>> {
    let mut values = [None; N];
    let rest = walk(bytes, |key, value| {
        if let Some(slot) = keys.iter().position(|wanted| wanted.as_bytes() == key) {
            values[slot] = Some(value);
        }
    })?;
    Some(Walked { values, rest })
}

/// Calls `member` for each member of the object that `bytes` start with; returns what follows the
/// object without leading space, or `None` if that is no object. Keys come unescaped.
pub fn walk<'a>(bytes: &'a [u8], mut member: impl FnMut(&[u8], Raw<'a>)) -> Option<&'a [u8]> {
    let mut at = skip_space(bytes, 0);
    if *bytes.get(at)? != b'{' {
        return None;
    }
    at = skip_space(bytes, at + 1);
    if *bytes.get(at)? == b'}' {
        return rest(bytes, at + 1);
    }
    loop {
        if *bytes.get(at)? != b'"' {
            return None;
        }
        let (end, escaped) = skip_string(bytes, at + 1)?;
        let key = bytes.get(at + 1..end - 1)?;
        at = skip_space(bytes, end);
        if *bytes.get(at)? != b':' {
            return None;
        }
        at = skip_space(bytes, at + 1);
        let end = skip_value(bytes, at)?;
        let value = Raw::whole(bytes.get(at..end)?);
        if escaped {
            member(repair::string(key).as_bytes(), value);
        } else {
            member(key, value);
        }
        at = skip_space(bytes, end);
        match bytes.get(at)? {
            b',' => at = skip_space(bytes, at + 1),
            b'}' => return rest(bytes, at + 1),
            _ => return None,
        }
    }
}

fn rest(bytes: &[u8], at: usize) -> Option<&[u8]> {
    bytes.get(skip_space(bytes, at)..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9f64..1e9).prop_map(|n| Value::from(n.floor() / 4.0)),
            (-300i32..300).prop_map(|e| Value::from(10f64.powi(e))),
            ".{0,40}".prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],:]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((".{0,12}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn read(bytes: &[u8]) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        let rest = walk(bytes, |key, value| {
            map.insert(String::from_utf8_lossy(key).into_owned(), value.value());
        })?;
        rest.is_empty().then_some(map)
    }

    fn accepts_like_serde(bytes: &[u8]) -> Result<(), TestCaseError> {
        let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
            && bytes.trim_ascii_start().first() == Some(&b'{');
        let ours =
            is_clean(bytes) && fields(bytes, &["a"]).is_some_and(|walked| walked.rest.is_empty());
        prop_assert_eq!(ours, theirs, "{}", String::from_utf8_lossy(bytes));
        Ok(())
    }

    #[test]
    fn nesting_of_any_depth_is_walked() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
            let deep = format!(r#"{{"a":{}1{}}}"#, r#"[{"b":"#.repeat(depth), "}]".repeat(depth));
            assert!(fields(deep.as_bytes(), &["a"]).is_some(), "{depth}");
            let crossed = deep.replacen("}]", "]}", 1);
            assert!(fields(crossed.as_bytes(), &["a"]).is_none(), "{depth}");
        }
    }

    #[test]
    fn a_late_type_is_found_like_an_early_one() {
        let line = br#" {"a":{"type":"no"},"b":["type"],"c":"\"type\":\"no\"","type" : "yes" } "#;
        let walked = fields(line, &["type", "absent"]).expect("an object");
        assert_eq!(walked.values[0].and_then(Raw::str).as_deref(), Some("yes"));
        assert!(walked.values[1].is_none());
        assert!(walked.rest.is_empty());
    }

    #[test]
    fn an_escaped_key_is_the_same_key() {
        let walked = fields(br#"{"t\u0079pe":"x"}"#, &["type"]).expect("an object");
        assert_eq!(walked.values[0].and_then(Raw::str).as_deref(), Some("x"));
    }

    #[test]
    fn what_is_glued_behind_an_object_is_the_rest() {
        let walked = fields(br#"{"a":1}  {"b":2}"#, &["a"]).expect("an object");
        assert_eq!(walked.rest, br#"{"b":2}"#);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bad in [
            "",
            " ",
            "null",
            "[]",
            "42",
            "\"x\"",
            "{",
            "{}x".split_at(1).0,
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":\"}",
            "{\"a\":{}",
            "{\"a\":]}",
            "{\"a\":nul}",
            "{\"a\":{'b'}}",
        ] {
            assert!(fields(bad.as_bytes(), &["a"]).is_none(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn members_are_those_serde_json_reads(value in any_json(), pretty in any::<bool>()) {
            let bytes =
                if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }
                    .expect("a tree serializes");
            let back: Value = serde_json::from_slice(&bytes).expect("what was written is read");
            prop_assert_eq!(read(&bytes).map(Value::Object), back.is_object().then_some(back));
        }

        #[test]
        fn exactly_what_serde_json_accepts_is_accepted(
            bytes in proptest::collection::vec(
                prop_oneof![
                    Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b'\\'),
                    Just(b':'), Just(b','), Just(b'1'), Just(b'-'), Just(b'.'), Just(b'e'),
                    Just(b'u'), Just(b' '), any::<u8>()
                ], 0..40),
        ) {
            accepts_like_serde(&bytes)?;
        }

        #[test]
        fn a_damaged_object_is_judged_as_serde_json_judges_it(
            value in any_json(),
            at in any::<proptest::sample::Index>(),
            with in prop_oneof![Just(b'"'), Just(b'}'), Just(b']'), Just(b','), Just(b':'), any::<u8>()],
        ) {
            let mut bytes = serde_json::to_vec(&serde_json::json!({ "k": value })).expect("serializes");
            let at = at.index(bytes.len());
            bytes[at] = with;
            accepts_like_serde(&bytes)?;
        }

        #[test]
        fn a_cut_object_is_never_whole(value in any_json(), cut in any::<proptest::sample::Index>()) {
            let bytes = serde_json::to_vec(&serde_json::json!({ "k": value })).expect("serializes");
            let cut = cut.index(bytes.len());
            prop_assert!(fields(&bytes[..cut], &["k"]).is_none());
        }
    }
}
