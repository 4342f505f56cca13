"""What the Stanford PTB tokenizer knows: letters and symbols, abbreviations, ends of file names."""

from __future__ import annotations

LETTERS = (
    r"A-Za-z\u00aa\u00ad\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u0384-\u0386"
    r"\u0388-\u0587\u058a-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2\u0615-\u061a"
    r"\u0620-\u0669\u066e-\u06d3\u06d5-\u06ff\u070f-\u07f5\u07fa-\u0963\u0966-\u0e3a"
    r"\u0e40-\u0e4e\u0e50-\u1fbc\u1fbe-\u1fff\u2071\u207f\u2090-\u209c\u2102\u2107"
    r"\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2139"
    r"\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2dff\u3005\u3006\u3031-\u30fa"
    r"\u30fc-\ud7ff\uf900-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"
    r"\uff66-\uffdc"
)
SYMBOLS = (
    r"!-/:-@\[-`{-~\u00a1\u00a5-\u00a9\u00ac\u00ae-\u00b4\u00b6-\u00b9\u00bf\u00d7\u00f7"
    r"\u037e\u0387\u0589\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u0600-\u060c\u0614\u061b\u061e"
    r"\u061f\u066a\u066d\u06d4\u0700-\u070d\u07f6-\u07f8\u0964\u0965\u0e3f\u0e4f\u1fbd\u2016"
    r"\u2017\u201a\u201e-\u2023\u2030-\u2038\u203b\u203e-\u2042\u2044\u2070\u2074-\u207e"
    r"\u2080-\u208e\u20a4\u2100\u2101\u2103-\u2106\u2108\u2109\u2114\u2116-\u2118"
    r"\u211e-\u2123\u2125\u2127\u2129\u212e\u213a\u213b\u2140-\u2144\u214a-\u214d\u214f"
    r"\u2155-\u215e\u2190-\u2bff\u3001\u3002\u3012\u30fb\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\uffe0\uffe1\uffe5\uffe6"
)
"""What is a token by itself. Other characters (emoji among them) are left out."""

TITLES = """
    adj adm adv alex assoc asst atty ave brig capt cf cie cmdr col comdr cpl dept det dr drs elec
    ens ft gen gov govs hon insp jos lieut lt maj messrs mlle mme mr mrs ms msgr mt natl pfc ph pres
    prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt treas vs wm"""
LABELS = """
    al ala apr ariz assn aug bancorp bhd bldg blvd bros calif co colo conn corp cos ct dak dec
    esq est etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo
    mon mont neb nev nov oct okla penn plc rd rt sep sept seq sq sr sys tel tenn thu thurs tue tues
    univ va vt wed wis wisc wyo"""
"""Abbreviations that often end a sentence, unlike titles."""
STATES = "ark az del ill la mass miss ore pa tex wash"
"""Abbreviations only with a capital: Miss. is a state, miss. ends a sentence."""
BEFORE_NUMBERS = "art ca fig figs no nos op pp prop"
FIRMS = "mfg mtg pptys pte ptes pty"
ABBREVIATIONS = f"{TITLES} {LABELS} {STATES} {FIRMS}"
SENTENCE_STARTS = """
    A About According Additionally After An As At But Earlier He Her Here However If In It Last Many
    More Mr\\. Ms\\. Now Once One Other Our She Since So Some Such That The Their Then There These
    They This We What When While Yet You"""
"""Words before which a letter and a stop is the end of a sentence, no initial."""
EXTENSIONS = """
    bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl
    png ppt ps py sql tar txt wav x xml zip"""
