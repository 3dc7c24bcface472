"""Language codes: the spellings of one language, and the encoder of the paper's package for it."""

from __future__ import annotations

import re
from difflib import get_close_matches

from .errors import InvalidTypeError, InvalidValueError
from .names import paper_tables

# The spelling of the tables, then other spellings of the same language: ISO 639-3, ISO 639-2/B,
# codes that both have withdrawn (iw, scr), and the codes that Unicode CLDR (`languageAlias`) or
# FLORES-200 use for the standard variety (arb, cmn, pes, zsm). "bh" and "sh" are no longer in ISO
# 639-1, but Wikipedias have them. "als" is Tosk Albanian, as in ISO 639-3, CLDR and FLORES-200; the
# Wikipedia of that name is in Alemannic, which is "gsw" below.
_SPELLINGS = """
    aa/aar ab/abk ae/ave af/afr ak/aka/fat am/amh an/arg ar/ara/arb as/asm av/ava ay/aym/ayr
    az/aze/azj ba/bak be/bel bg/bul bh/bih bi/bis bm/bam bn/ben bo/bod/tib br/bre bs/bos ca/cat
    ce/che ch/cha co/cos cr/cre/cwd cs/ces/cze cu/chu cv/chv cy/cym/wel da/dan de/deu/ger dv/div
    dz/dzo ee/ewe el/ell/gre en/eng eo/epo es/spa et/est/ekk eu/eus/baq fa/fas/per/pes/prs
    ff/ful/fuc/fuv fi/fin fj/fij fo/fao fr/fra/fre fy/fry ga/gle gd/gla gl/glg gn/grn/gug gu/guj
    gv/glv ha/hau he/heb/iw hi/hin ho/hmo hr/hrv/scr ht/hat hu/hun hy/hye/arm hz/her ia/ina
    id/ind/in ie/ile ig/ibo ii/iii ik/ipk/esk io/ido is/isl/ice it/ita iu/iku/ike ja/jpn jv/jav/jw
    ka/kat/geo kg/kon/kng ki/kik kj/kua kk/kaz kl/kal km/khm kn/kan ko/kor kr/kau/knc ks/kas
    ku/kur/kmr kv/kom/kpv kw/cor ky/kir la/lat lb/ltz lg/lug li/lim ln/lin lo/lao lt/lit lu/lub
    lv/lav/lvs mg/mlg/plt mh/mah mi/mri/mao mk/mkd/mac ml/mal mn/mon/khk mr/mar ms/msa/may/zsm
    mt/mlt my/mya/bur na/nau nb/nob nd/nde ne/nep/npi ng/ndo nl/nld/dut nn/nno no/nor nr/nbl nv/nav
    ny/nya oc/oci oj/oji/ojg om/orm/gaz or/ori/ory os/oss pa/pan pi/pli pl/pol ps/pus/pbu/pbt
    pt/por qu/que/quz/quy rm/roh rn/run ro/ron/rum/mo/mol ru/rus rw/kin sa/san sc/srd/src sd/snd
    se/sme sg/sag sh/hbs si/sin sk/slk/slo sl/slv sm/smo sn/sna so/som sq/sqi/alb/als sr/srp/scc
    ss/ssw st/sot su/sun sv/swe sw/swa/swh ta/tam te/tel tg/tgk th/tha ti/tir tk/tuk tl/tgl/fil
    tn/tsn to/ton tr/tur ts/tso tt/tat tw/twi ty/tah ug/uig uk/ukr ur/urd uz/uzb/uzn ve/ven vi/vie
    vo/vol wa/wln wo/wol xh/xho yi/yid/ydd/ji yo/yor za/zha/zyb zh/zho/chi/cmn zu/zul
"""
# Languages with a code of three letters only: those of multilingual BERT (google-research/bert,
# multilingual.md), FLORES-200 and FLORES+, the Wikipedias, and further ones of WMT and translators.
# A variety that mBERT or FLORES keeps apart from its macrolanguage stays apart: arz, azb, ckb, yue.
_THREE_LETTERS = """
    ace acm acq ady aeb ajp alt ami ang anp apc arc ars ary arz ast atj avk awa azb ban bar bcl bdr
    bem bew bho bjn blk bpy brx btm bug bxr cbk cdo ceb cho chr chy cjk ckb crh csb ctg dag dar dga
    dgo dik din diq doi dsb dtp dty dyu ext fon frp frr fur gag gan gcr glk gom gor got gpe gsw gur
    guw hak haw hif hmn hne hsb hyw iba igl ilo inh jam jbo kaa kab kac kam kbd kbp kcg kea kmb koi
    krc kri ksh kus lad lbe lez lfn lij liv lld lmo lrc ltg lua luo lus lzh mad mag mai mas mdf mhr
    min mni mnw mos mrj mus mwl myv mzn nah nan nap nds new nia nov nqo nso nup nus olo pag pam pap
    pcd pdc pfl pih pms pnb pnt pwn rmy rsk rue rup sah sat scn sco sgs shi shn skr smn srn stq syl
    szl szy taq tay tcy tdd tet tig tly tpi trv tum tyv tzm udm umb uzs vec vep vls vmw vro war wuu
    xal xmf yue zea zgh
"""
_CODES = {
    spelling: entry.partition("/")[0]
    for entry in f"{_SPELLINGS} {_THREE_LETTERS}".split()
    for spelling in entry.split("/")
}
# What is written in place of a code: English names, and countries whose code is no language's.
_NAMES = dict(
    entry.split("/")
    for entry in """
    arabic/ar bengali/bn bulgarian/bg catalan/ca chinese/zh croatian/hr czech/cs danish/da dutch/nl
    english/en estonian/et finnish/fi french/fr german/de greek/el hebrew/he hindi/hi hungarian/hu
    indonesian/id italian/it japanese/ja korean/ko latvian/lv lithuanian/lt mandarin/zh norwegian/no
    persian/fa polish/pl portuguese/pt romanian/ro russian/ru serbian/sr spanish/es swahili/sw
    swedish/sv thai/th turkish/tr ukrainian/uk urdu/ur vietnamese/vi
    cn/zh cz/cs dk/da gb/en gr/el jp/ja ua/uk us/en vn/vi
    """.split()
)
_SCIENTIFIC = "en-sci"
_WANTED = (
    "wanted an ISO 639-1 code such as 'en', 'de' or 'zh' ('en-sci' for scientific English) or the "
    "three letters of ISO 639-3, or leave lang out and name the encoder"
)


def language_code(code: str, said: str = "lang=") -> str:
    """Check a language code and bring it to the spelling of the tables.

    Args:
        code: in any case, with or without script and region, with ``-`` or ``_``: ISO 639-1 ("en",
            "pt-BR"), ISO 639-3 and 639-2 ("deu", "ger"), FLORES-200 and NLLB ("zho_Hans",
            "pes_Arab"), or "en-sci".
        said: how the message writes the setting: ``lang=`` or ``--lang ``.

    Returns:
        The code as the tables spell it, without script and region: "pt", "de", "zh", "fa".

    Raises:
        InvalidTypeError: if it is no text.
        InvalidValueError: if it is no language code that is known here; where one can be guessed,
            the message offers it.
    """
    if not isinstance(code, str):
        raise InvalidTypeError(f"got {said}{code!r}; {_WANTED}")
    text = code.strip().lower().replace("_", "-")
    if text == _SCIENTIFIC:
        return text
    found = re.fullmatch(r"([a-z]{2,3})(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?", text)
    if not found or found[1] not in _CODES:
        shown = repr(code) if len(code) <= 50 else f"{code[:50]!r}... ({len(code)} characters)"
        meant = _meant(text)
        raise InvalidValueError(
            f"got {said}{shown}, which is no language code that is known here; {_WANTED}"
            + (f"; did you mean {meant!r}?" if meant else "")
        )
    return _CODES[found[1]]


def default_encoder(lang: str) -> str:
    """The encoder of the paper's package for a language, as `language_code` returns it."""
    models: dict[str, str] = paper_tables()["lang2model"]
    return models.get(lang, models["default"])


def _meant(text: str) -> str | None:
    """The code that was probably meant, or None. Names are compared: any two codes look alike."""
    first, *rest = re.split(r"[^a-z0-9]+", text[:50].strip("- "))
    if first in _CODES:
        sci = _CODES[first] == "en" and "".join(rest).startswith("sci")
        return _SCIENTIFIC if sci else _CODES[first]
    if first in _NAMES:
        return _NAMES[first]
    begun = {code for name, code in _NAMES.items() if len(first) > 2 and name.startswith(first)}
    if len(begun) == 1:
        return begun.pop()
    near = get_close_matches(first, _NAMES, n=1, cutoff=0.8) if len(first) > 3 else []
    return _NAMES[near[0]] if near else None
