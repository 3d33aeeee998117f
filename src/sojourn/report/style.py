"""The frame of a page: everything inline, no script; light, dark and on paper, on a wide screen and on a telephone."""

LIGHT = """--ink: #000000; --paper: #ffffff; --text: #1a1a1a; --soft: #444444; --grid: #dddddd; --rule: #cccccc;
  --box: #f4f6f8; --code: #f6f6f6; --warn: #fdf3ec; --accent: #0072b2;
  --line-0: #0072b2; --line-1: #e69f00; --line-2: #009e73; --line-3: #56b4e9; --line-4: #d55e00; --line-5: #cc79a7;
  --line-6: #404040; --line-7: #999999;"""

DARK = """--ink: #e8e8e8; --paper: #15181c; --text: #e4e4e4; --soft: #b4b8bd; --grid: #363c43; --rule: #454b53;
  --box: #1f252c; --code: #1d2126; --warn: #38271c; --accent: #56b4e9;
  --line-0: #3f9bd8; --line-1: #f0b030; --line-2: #2fbf95; --line-3: #8fd0f5; --line-4: #f07c34; --line-5: #e096c3;
  --line-6: #c8c8c8; --line-7: #8b9096;"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; %LIGHT% }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ %DARK% }} }}
* {{ box-sizing: border-box; }}
body {{ font: 16px/1.5 Georgia, "Times New Roman", serif; color: var(--text); background: var(--paper);
  max-width: 58rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}
h1, h2, h3 {{ font-family: system-ui, "Helvetica Neue", Arial, sans-serif; line-height: 1.2; break-after: avoid; }}
h1 {{ font-size: 1.9rem; margin: 0 0 .3rem; }}
h2 {{ font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--rule); padding-bottom: .2rem; }}
h3 {{ font-size: 1rem; margin: 1.2rem 0 .3rem; }}
header p {{ color: var(--soft); margin: 0; }}
.findings {{ background: var(--box); border-left: 4px solid var(--accent); padding: .7rem 1rem .7rem 2rem; }}
.bound {{ background: var(--box); padding: .6rem 1rem; }}
.warn {{ border-left: 4px solid #d55e00; background: var(--warn); padding: .5rem 1rem; }}
table {{ border-collapse: collapse; width: 100%; margin: .6rem 0;
  font: .82rem/1.35 system-ui, "Helvetica Neue", Arial, sans-serif; }}
th {{ text-align: left; border-bottom: 1.5px solid var(--soft); padding: .25rem .5rem; vertical-align: bottom; }}
td {{ padding: .2rem .5rem; vertical-align: top; border-bottom: 1px solid var(--grid); }}
tr {{ break-inside: avoid; }}
tr.first td {{ border-top: 1px solid var(--soft); }}
tr.best td {{ font-weight: 600; }}
th, td.n {{ overflow-wrap: break-word; }}
.again {{ visibility: hidden; }}
.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.figures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); gap: 1rem 1.5rem; }}
figure {{ margin: .6rem 0; break-inside: avoid; }}
svg {{ display: block; width: 100%; max-width: 34rem; height: auto; fill: var(--ink); stroke-linejoin: round; }}
figcaption {{ font-size: .85rem; color: var(--soft); }}
figcaption b {{ color: var(--text); }}
pre {{ background: var(--code); border: 1px solid var(--rule); padding: .7rem; font-size: .8rem; line-height: 1.4;
  white-space: pre-wrap; overflow-wrap: anywhere; }}
code {{ font-size: .88em; overflow-wrap: anywhere; }}
footer {{ margin: 2.5rem 0 1rem; padding-top: .6rem; border-top: 1px solid var(--rule); font-size: .8rem; color: var(--soft); }}
@media screen and (max-width: 760px) {{
  body {{ margin: 1rem auto; }}
  ul {{ padding-left: 1.2rem; }}
  thead {{ display: none; }}
  table, tbody, tr, td {{ display: block; }}
  tr {{ border-bottom: 1px solid var(--rule); padding: .35rem 0; }}
  tr.first td {{ border-top: 0; }}
  td, td.n {{ display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; text-align: right; }}
  td::before {{ content: attr(data-head); color: var(--soft); font-weight: 400; text-align: left; flex: 0 0 auto; max-width: 55%; }}
  .again {{ visibility: visible; }}
}}
@media print {{
  @page {{ margin: 16mm; }}
  body {{ max-width: none; margin: 0; padding: 0; font-size: 10.5pt; }}
  .figures {{ grid-template-columns: 1fr 1fr; }}
  table {{ font-size: 8pt; }}
  th, td {{ padding: .15rem .3rem; }}
  details {{ display: none; }}
}}
</style>
</head>
<body>
{body}
</body>
</html>
""".replace("%LIGHT%", LIGHT).replace("%DARK%", DARK)
