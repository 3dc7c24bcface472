"""Which language a code means, and the encoder for it."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertscore_tm import BERTScore, languages, names
from bertscore_tm.languages import default_encoder, language_code

Tiny = Callable[[str], str]


def pairs(table: str) -> list[list[str]]:
    """A spelling and the code it means, from a table of ``spelling:code``."""
    return [entry.split(":") for entry in table.split()]


# ISO 639-3 for all of ISO 639-1 (pycountry 26.2.16).
ISO_639_3 = pairs("""
    aar:aa abk:ab afr:af aka:ak amh:am ara:ar arg:an asm:as ava:av ave:ae aym:ay aze:az bak:ba
    bam:bm bel:be ben:bn bis:bi bod:bo bos:bs bre:br bul:bg cat:ca ces:cs cha:ch che:ce chu:cu
    chv:cv cor:kw cos:co cre:cr cym:cy dan:da deu:de div:dv dzo:dz ell:el eng:en epo:eo est:et
    eus:eu ewe:ee fao:fo fas:fa fij:fj fin:fi fra:fr fry:fy ful:ff gla:gd gle:ga glg:gl glv:gv
    grn:gn guj:gu hat:ht hau:ha hbs:sh heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig
    ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is ita:it jav:jv jpn:ja kal:kl kan:kn
    kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj kur:ku
    lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mah:mh mal:ml mar:mr mkd:mk
    mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl
    nno:nn nob:nb nor:no nya:ny oci:oc oji:oj ori:or orm:om oss:os pan:pa pli:pi pol:pl por:pt
    pus:ps que:qu roh:rm ron:ro run:rn rus:ru sag:sg san:sa sin:si slk:sk slv:sl sme:se smo:sm
    sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss sun:su swa:sw swe:sv tah:ty
    tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr twi:tw
    uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wln:wa wol:wo xho:xh yid:yi yor:yo zha:za
    zho:zh zul:zu
""")
# ISO 639-2/B where it differs from ISO 639-3.
ISO_639_2B = pairs("""
    alb:sq arm:hy baq:eu bur:my chi:zh cze:cs dut:nl fre:fr geo:ka ger:de gre:el ice:is mac:mk
    mao:mi may:ms per:fa rum:ro slo:sk tib:bo wel:cy
""")
# All of FLORES-200 (facebookresearch/flores, flores200/README.md). The code of ISO 639-1, of the
# language itself or of what langcodes 3.5.1 (Unicode CLDR) replaces it with, is the one wanted; for
# pbt, quy and fuv, which CLDR leaves, that of the macrolanguage.
FLORES_200 = pairs("""
    ace_Arab:ace ace_Latn:ace acm_Arab:acm acq_Arab:acq aeb_Arab:aeb afr_Latn:af ajp_Arab:ajp
    aka_Latn:ak amh_Ethi:am apc_Arab:apc arb_Arab:ar arb_Latn:ar ars_Arab:ars ary_Arab:ary
    arz_Arab:arz asm_Beng:as ast_Latn:ast awa_Deva:awa ayr_Latn:ay azb_Arab:azb azj_Latn:az
    bak_Cyrl:ba bam_Latn:bm ban_Latn:ban bel_Cyrl:be bem_Latn:bem ben_Beng:bn bho_Deva:bho
    bjn_Arab:bjn bjn_Latn:bjn bod_Tibt:bo bos_Latn:bs bug_Latn:bug bul_Cyrl:bg cat_Latn:ca
    ceb_Latn:ceb ces_Latn:cs cjk_Latn:cjk ckb_Arab:ckb crh_Latn:crh cym_Latn:cy dan_Latn:da
    deu_Latn:de dik_Latn:dik dyu_Latn:dyu dzo_Tibt:dz ell_Grek:el eng_Latn:en epo_Latn:eo
    est_Latn:et eus_Latn:eu ewe_Latn:ee fao_Latn:fo fij_Latn:fj fin_Latn:fi fon_Latn:fon
    fra_Latn:fr fur_Latn:fur fuv_Latn:ff gla_Latn:gd gle_Latn:ga glg_Latn:gl grn_Latn:gn
    guj_Gujr:gu hat_Latn:ht hau_Latn:ha heb_Hebr:he hin_Deva:hi hne_Deva:hne hrv_Latn:hr
    hun_Latn:hu hye_Armn:hy ibo_Latn:ig ilo_Latn:ilo ind_Latn:id isl_Latn:is ita_Latn:it
    jav_Latn:jv jpn_Jpan:ja kab_Latn:kab kac_Latn:kac kam_Latn:kam kan_Knda:kn kas_Arab:ks
    kas_Deva:ks kat_Geor:ka knc_Arab:kr knc_Latn:kr kaz_Cyrl:kk kbp_Latn:kbp kea_Latn:kea
    khm_Khmr:km kik_Latn:ki kin_Latn:rw kir_Cyrl:ky kmb_Latn:kmb kmr_Latn:ku kon_Latn:kg
    kor_Hang:ko lao_Laoo:lo lij_Latn:lij lim_Latn:li lin_Latn:ln lit_Latn:lt lmo_Latn:lmo
    ltg_Latn:ltg ltz_Latn:lb lua_Latn:lua lug_Latn:lg luo_Latn:luo lus_Latn:lus lvs_Latn:lv
    mag_Deva:mag mai_Deva:mai mal_Mlym:ml mar_Deva:mr min_Arab:min min_Latn:min mkd_Cyrl:mk
    plt_Latn:mg mlt_Latn:mt mni_Beng:mni khk_Cyrl:mn mos_Latn:mos mri_Latn:mi mya_Mymr:my
    nld_Latn:nl nno_Latn:nn nob_Latn:nb npi_Deva:ne nso_Latn:nso nus_Latn:nus nya_Latn:ny
    oci_Latn:oc gaz_Latn:om ory_Orya:or pag_Latn:pag pan_Guru:pa pap_Latn:pap pes_Arab:fa
    pol_Latn:pl por_Latn:pt prs_Arab:fa pbt_Arab:ps quy_Latn:qu ron_Latn:ro run_Latn:rn rus_Cyrl:ru
    sag_Latn:sg san_Deva:sa sat_Olck:sat scn_Latn:scn shn_Mymr:shn sin_Sinh:si slk_Latn:sk
    slv_Latn:sl smo_Latn:sm sna_Latn:sn snd_Arab:sd som_Latn:so sot_Latn:st spa_Latn:es als_Latn:sq
    srd_Latn:sc srp_Cyrl:sr ssw_Latn:ss sun_Latn:su swe_Latn:sv swh_Latn:sw szl_Latn:szl
    tam_Taml:ta tat_Cyrl:tt tel_Telu:te tgk_Cyrl:tg tgl_Latn:tl tha_Thai:th tir_Ethi:ti
    taq_Latn:taq taq_Tfng:taq tpi_Latn:tpi tsn_Latn:tn tso_Latn:ts tuk_Latn:tk tum_Latn:tum
    tur_Latn:tr twi_Latn:tw tzm_Tfng:tzm uig_Arab:ug ukr_Cyrl:uk umb_Latn:umb urd_Arab:ur
    uzn_Latn:uz vec_Latn:vec vie_Latn:vi war_Latn:war wol_Latn:wo xho_Latn:xh ydd_Hebr:yi
    yor_Latn:yo yue_Hant:yue zho_Hans:zh zho_Hant:zh zsm_Latn:ms zul_Latn:zu
""")
# The 104 languages of multilingual BERT (google-research/bert, multilingual.md, in its order),
# which counts Chinese twice.
MULTILINGUAL_BERT = """
    af sq ar an hy ast az ba eu bar be bn bpy bs br bg my ca ceb ce zh-Hans zh-Hant cv hr cs da
    nl en et fi fr gl ka de el gu ht he hi hu is io id ga it ja jv kn kk ky ko la lv lt lmo nds
    lb mk mg ms ml mr min ne new nb nn oc fa pms pl pt pa ro ru sco sr sh scn sk sl azb es su sw
    sv tl tg ta tt te tr uk ur uz vi vo war cy fy pnb yo th mn
""".split()


# ---------------------------------------------------------------- codes


@pytest.mark.parametrize(
    "code, wanted",
    [
        ("en", "en"),
        ("EN", "en"),
        (" De ", "de"),
        ("pt-BR", "pt"),
        ("pt_BR", "pt"),
        ("en_XX", "en"),  # mBART
        ("zh-Hant-TW", "zh"),
        ("zh-Hans", "zh"),
        ("ZH_HANS_CN", "zh"),
        ("sr_Latn", "sr"),
        ("deu-Latn-AT", "de"),
        ("es-419", "es"),
        ("en-sci", "en-sci"),
        ("EN_Sci", "en-sci"),
    ],
)
def test_case_script_and_region(code: str, wanted: str) -> None:
    assert language_code(code) == wanted


@pytest.mark.parametrize("code", MULTILINGUAL_BERT)
def test_all_of_multilingual_bert(code: str) -> None:
    assert language_code(code) == code.split("-")[0]


@pytest.mark.parametrize("three, two", ISO_639_3)
def test_all_of_iso_639_1(three: str, two: str) -> None:
    assert language_code(three) == language_code(two) == two


@pytest.mark.parametrize("code, wanted", ISO_639_2B)
def test_all_of_iso_639_2b(code: str, wanted: str) -> None:
    assert language_code(code) == wanted


@pytest.mark.parametrize("code, wanted", FLORES_200)
def test_all_of_flores_200(code: str, wanted: str) -> None:
    assert language_code(code) == wanted
    assert language_code(code.split("_")[0]) == wanted


@pytest.mark.parametrize(
    "code, wanted",
    pairs("iw:he in:id ji:yi jw:jv mo:ro mol:ro scc:sr scr:hr bh:bh bih:bh sh:sh"),
)
def test_old_codes(code: str, wanted: str) -> None:
    assert language_code(code) == wanted


@pytest.mark.parametrize(
    "code, wanted",
    [
        ("cmn_Hans", "zh"),  # FLORES+
        ("ekk", "et"),
        ("fil", "tl"),
        ("als", "sq"),  # Tosk Albanian, though the Wikipedia of this name is in Alemannic,
        ("gsw", "gsw"),  # which is this
        ("nob", "nb"),
        ("nor", "no"),
        ("zsm", "ms"),
        ("gom", "gom"),
        ("hsb", "hsb"),
    ],
)
def test_varieties(code: str, wanted: str) -> None:
    assert language_code(code) == wanted


def test_varieties_of_their_own_are_not_merged() -> None:
    """Their texts differ from those of the macrolanguage, and mBERT or FLORES-200 have both."""
    own = "arz ary azb ckb pnb yue wuu ltg nb nn".split()
    assert [language_code(code) for code in own] == own


def test_what_the_tables_have_is_found_as_they_spell_it() -> None:
    package = files("bertscore_tm")
    folders = [path.name for path in (package / "baselines").iterdir() if path.is_dir()]
    models = json.loads((package / "layers.json").read_text(encoding="utf-8"))["lang2model"]
    spelled = {*folders, *models} - {"default"}
    assert len(spelled) > 10
    assert {code: language_code(code) for code in spelled} == {code: code for code in spelled}


# ---------------------------------------------------------------- what is none


REFUSED = "which is no language code that is known here; wanted an ISO 639-1 code such as 'en'"


@pytest.mark.parametrize(
    "code",
    [
        *("", " ", "-", "_", "e", "e n", "xx", "xx-nowhere", "zz", "zz_ZZ", "qqq", "qaa", "123"),
        *("und", "mul", "zxx", "klingon", "tlh", "ge", "cnn", "日本語", "e\u0301n", "\0"),
    ],
)
def test_nothing_is_offered_for_what_is_no_language(code: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"got lang={code!r}, {REFUSED}")) as error:
        language_code(code)
    assert str(error.value).endswith("or leave lang out and name the encoder")


@pytest.mark.parametrize(
    "code, offered",
    [
        ("english", "en"),
        ("English", "en"),
        ("englsh", "en"),
        ("engl", "en"),
        ("chinese", "zh"),
        ("German (Austria)", "de"),
        ("portugese", "pt"),
        ("jap", "ja"),
        ("jp", "ja"),
        ("cn", "zh"),
        ("cz", "cs"),
        ("zh-CN-", "zh"),
        ("en-", "en"),
        ("-en", "en"),
        ("en-1", "en"),
        ("en_US.UTF-8", "en"),
        ("ger-Germany", "de"),
        ("de-at-1996", "de"),
        ("en-scientific", "en-sci"),
        ("eng-sci", "en-sci"),
        ("en sci", "en-sci"),
    ],
)
def test_the_obvious_is_offered(code: str, offered: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"got lang={code!r}, {REFUSED}")) as error:
        language_code(code)
    assert str(error.value).endswith(f"; did you mean {offered!r}?")


def test_what_is_offered_is_accepted() -> None:
    for name, code in languages._NAMES.items():
        assert language_code(code) == code
        with pytest.raises(ValueError, match=f"did you mean {code!r}"):
            language_code(name)


@pytest.mark.parametrize("code", [None, 3, 1.5, b"en", ["en"], True, object()])
def test_what_is_no_text(code: Any) -> None:
    message = f"got lang={code!r}; wanted an ISO 639-1 code such as 'en'"
    with pytest.raises(TypeError, match=re.escape(message)):
        language_code(code)


def test_the_message_stays_short() -> None:
    with pytest.raises(
        ValueError, match=r"got lang='x{50}'\.\.\. \(1000000 characters\), which"
    ) as error:
        language_code("x" * 1_000_000)
    assert len(str(error.value)) < 400


@given(
    st.one_of(st.text(), st.from_regex(r"[a-zA-Z]{2,3}([-_][a-zA-Z]{2,4}){0,2}", fullmatch=True))
)
def test_any_text_is_a_code_or_refused(text: str) -> None:
    try:
        code = language_code(text)
    except ValueError:
        return
    assert re.fullmatch(r"[a-z]{2,3}|en-sci", code)
    assert language_code(code) == code


@pytest.mark.parametrize("module", [languages, names])
def test_names_and_codes_load_nothing(module: Any) -> None:
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    nodes = list(ast.walk(tree))
    absolute = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    absolute |= {str(node.module) for node in froms if not node.level}
    assert {name.partition(".")[0] for name in absolute} <= sys.stdlib_module_names
    assert {node.module for node in froms if node.level} <= {"names", "errors"}


# ---------------------------------------------------------------- encoders


@pytest.mark.parametrize(
    "lang, model",
    [
        ("en", "roberta-large"),
        ("zh", "bert-base-chinese"),
        ("tr", "dbmdz/bert-base-turkish-cased"),
        ("en-sci", "allenai/scibert_scivocab_uncased"),
        ("de", "bert-base-multilingual-cased"),
        ("ur", "bert-base-multilingual-cased"),
        ("ast", "bert-base-multilingual-cased"),
    ],
)
def test_encoders_of_languages(lang: str, model: str) -> None:
    """The paper's package has these."""
    assert default_encoder(lang) == model


@pytest.mark.parametrize(
    "lang, model",
    [
        ("zh-TW", "bert-base-chinese"),
        ("zho_Hans", "bert-base-chinese"),
        ("tur", "dbmdz/bert-base-turkish-cased"),
        ("UR", "bert-base-multilingual-cased"),
        ("war", "bert-base-multilingual-cased"),
    ],
)
def test_the_language_chooses_the_encoder(lang: str, model: str) -> None:
    try:
        named = BERTScore(lang=lang).signature
    except OSError as error:  # it is not at hand
        named = str(error)
    assert model in named


def test_neither_encoder_nor_language() -> None:
    message = r"got neither an encoder nor a language; .*\('en' chooses roberta-large\)"
    with pytest.raises(ValueError, match=message):
        BERTScore()


def test_the_language_of_a_given_encoder_changes_no_score(tiny: Tiny) -> None:
    assert BERTScore(tiny("bert"), 2, lang="de").signature == BERTScore(tiny("bert"), 2).signature
