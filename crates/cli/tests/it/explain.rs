//! `explain`: the evidence behind a state, as people and programs read it.

use crate::sandbox::{Sandbox, payload};

#[test]
fn an_explanation_names_what_decided_what_did_not_and_what_would_change_it() {
    let sandbox = Sandbox::new();
    let _daemon = sandbox.daemon();
    let tool = r#","tool_name":"Bash","tool_input":{"command":"a secret"},"prompt_id":"p""#;
    for (event, more) in [
        ("SessionStart", r#","source":"startup""#.to_owned()),
        ("UserPromptSubmit", r#","prompt":"a secret","prompt_id":"p""#.to_owned()),
        ("PreToolUse", format!(r#"{tool},"tool_use_id":"c1""#)),
        ("PermissionRequest", tool.to_owned()),
    ] {
        sandbox.hook(&payload("explained-session", event, &more));
    }
    sandbox.until_state("explained-session", "waiting_for_permission");
    let json = &sandbox.lines(["explain", "explained", "--format", "json"])[0];
    assert_eq!(json["v"], 1);
    assert_eq!((&json["agent"], &json["id"]), (&"claude-code".into(), &"explained-session".into()));
    assert_eq!(json["status"], "waiting_for_permission");
    assert_eq!(json["decided"]["sign"], "request");
    assert!(json["decided"]["age_ms"].as_i64() >= Some(0), "{json}");
    assert_eq!(json["open"][0]["tool"], "Bash");
    assert_eq!(json["least_trust"], "inferred");
    assert_eq!(json["changes"][0], "answer");
    assert_eq!(json["then"], "stale");
    let tools = json["overruled"].as_array().expect("a list");
    let tool = tools.iter().find(|it| it["sign"] == "tool").expect("the tool call is named");
    assert_eq!((&tool["overruled"], &tool["trust"]), (&"outweighed".into(), &"reported".into()));

    let page = sandbox.text(["explain", "explained"]);
    for line in [
        "session       claude-code:explained-session",
        "state         waiting_for_permission (permission), for ",
        "because       a request is open, ",
        "open          permission Bash, ",
        "who counts    every feed, by weight and time",
        "overruled     ",
        "changes with  an answer, an interrupt, a prompt or the end of the process",
        "else          stale in ",
    ] {
        assert!(page.lines().any(|it| it.starts_with(line)), "{line}\nis not in\n{page}");
    }
    assert!(!page.contains("secret") && !json.to_string().contains("secret"), "{page}{json}");
    // The event it names is one that history knows.
    let event = json["decided"]["event"].as_str().expect("an id");
    let named = sandbox.eventually("the event in the history", |sandbox| {
        let history = sandbox.lines(["history", "explained", "--format", "ndjson"]);
        history.into_iter().find(|it| it["id"] == event)
    });
    assert_eq!(named["kind"], "permission.requested");
}

#[test]
fn what_cannot_be_explained_has_the_exit_codes_of_show() {
    let sandbox = Sandbox::new();
    let without = sandbox.run(["explain", "any"]);
    assert_eq!(without.status.code(), Some(3));
    let _daemon = sandbox.daemon();
    for session in ["twin-1", "twin-2"] {
        sandbox.hook(&payload(session, "SessionStart", r#","source":"startup""#));
        sandbox.eventually(session, |sandbox| sandbox.session(session));
    }
    for id in ["nobody", "twin"] {
        let output = sandbox.run(["explain", id]);
        assert_eq!(output.status.code(), Some(4), "{id}");
        assert!(output.stdout.is_empty(), "{id}");
        assert!(String::from_utf8(output.stderr).expect("text").contains(id));
    }
    sandbox.text(["explain", "claude-code:twin-2"]);
}
