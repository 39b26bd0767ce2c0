//! What a user sees who got everything wrong: the whole text, compared with a file a reviewer can read.

use airperf_scenario::Scenario;

fn told(text: &str, name: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    match Scenario::parse(text, name, &overrides) {
        Ok(_) => "no problem\n".to_owned(),
        Err(problems) => format!("{problems}\n\n{} problems\n", problems.0.len()),
    }
}

/// Compares with the file, or rewrites it when `AIRPERF_BLESS` is set.
fn compare(file: &str, told: &str) {
    let path = format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("AIRPERF_BLESS").is_some() {
        std::fs::write(&path, told).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file can be read");
    assert_eq!(told, golden, "the messages changed; if that is right, run again with AIRPERF_BLESS=1");
}

#[test]
fn fault_38_all_problems_of_a_very_bad_scenario() {
    let overrides = [
        ("client.rate", "11 mbps"),
        ("client.4.size", "1KiB"),
        ("link.queu", "200"),
        ("link..queue", "200"),
        ("name.first", "x"),
        ("record.level", "some"),
    ];
    compare("bad.txt", &told(include_str!("bad.toml"), "bad.toml", &[]));
    compare("bad-overrides.txt", &told(include_str!("good.toml"), "good.toml", &overrides));
}

#[test]
fn fault_38_several_syntax_errors_at_once() {
    let text = "schema = 1\nname = bai\nduration = 120s\n\n[link\nkind = \"wifi\"\nrate = 11 mbps\n\n[[client]]\nrate = \"10\"\nrate = \"20/s\"\n";
    compare("not-toml.txt", &told(text, "broken.toml", &[]));
}

#[test]
fn missing_keys_are_listed() {
    compare("missing.txt", &told("", "empty.toml", &[]));
}
