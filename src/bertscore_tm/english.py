"""Words of English that `mismatches` and `damages` go by: a table, no rules."""

from __future__ import annotations

# Words that hardly any other language has, and without which hardly any English sentence does.
TELLING = frozenset(
    "the of and that for with are were have has had not she his her they this from by at it its "
    "you my been who which would to is he we there their be as".split()
)
# Words that hardly any English sentence has, of languages that share English words.
FOREIGN = frozenset(
    "der das und ist nicht ein eine einen den dem mit auf von zu sich auch le les des et est une "
    "dans pour qui pas sur au aux el los las y es una con por para como del que il che di non "
    "per sono "
    "della het een van niet dat op zijn och att det som en av på og ikke er jag ja nie się w z "
    "na jest os da em um uma não ve bir bu nu și yang dan di itu tidak".split()
)
FUNCTION = TELLING | frozenset(
    "a an in on was will do does did me him us them i your our these those what when where why how "
    "if or but so than then too very can could should may might must shall being am into out up "
    "down over under about after before again all any both each few more most other some such only "
    "own same just now here also as while because until against between during off through "
    "however although though since still yet even much many".split()
)
# Words that begin a sentence with a capital and that are no names for it.
OPENERS = FUNCTION | frozenset(
    "no yes not one two three four five six seven eight nine ten please thank thanks well oh ok "
    "according another every nothing nobody everyone someone people many most several first second "
    "third last next today tomorrow yesterday let never always perhaps maybe once despite nor "
    "neither either".split()
)
# With a capital they go before a name or stand for a person, without being one.
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir lady lord president minister prime vice chancellor king "
    "queen prince princess pope bishop judge general colonel captain sergeant senator governor "
    "mayor chairman director secretary ambassador chief officer doctor mister madam reverend saint "
    "st deputy foreign interior defence defense the of and for in de la le van von der al el inc "
    "ltd llc llp plc gmbh jsc corp co province district region city republic kingdom county river "
    "lake mount street i ok god internet chairwoman chair premier commissioner spokesman "
    "spokeswoman head north south east west northern southern eastern western central new great "
    "united states world jr attorney prosecutor".split()
)
# A name with one of these is a description, which has other words in another translation.
BODIES = frozenset(
    "university institute company group church party committee council court ministry department "
    "house parliament congress government union association federation federal supreme national "
    "international commission team cup league championship championships olympic olympics games "
    "war act security police army navy force forces airport bank museum park square center centre "
    "headquarters organization organisation academy college school hospital office agency service "
    "assembly board fund foundation society club festival program programme project law code "
    "state public affairs health education defence defense interior foreign "
    "command clinic clinics newspaper news media press corporation conference forum summit".split()
)
# Abbreviations that are the same in every English text; others differ between translations.
ACRONYMS = frozenset(
    "un eu us uk usa nato nasa fbi cia bbc cnn who imf opec unesco unicef ibm bmw nba nfl nhl fifa "
    "uefa ira nsa ussr uae".split()
)
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
SHORT_DATES = {
    **{day[:3].lower(): day.lower() for day in DAYS},
    **{month[:3].lower(): month.lower() for month in MONTHS},
    **{"sept": "september", "tues": "tuesday", "thurs": "thursday"},
}
# A place and what is of it.
PLACES = {
    place: frozenset(adjectives.split("/"))
    for place, adjectives in (
        each.split(":")
        for each in (
            "Germany:German France:French Spain:Spanish/Spaniard Italy:Italian Russia:Russian "
            "China:Chinese Japan:Japanese Turkey:Turkish/Turk Poland:Polish/Pole "
            "Finland:Finnish/Finn Sweden:Swedish/Swede Norway:Norwegian Denmark:Danish/Dane "
            "Greece:Greek Ireland:Irish "
            "Scotland:Scottish/Scot Wales:Welsh Austria:Austrian Switzerland:Swiss Belgium:Belgian "
            "Netherlands:Dutch Portugal:Portuguese Hungary:Hungarian Romania:Romanian "
            "Bulgaria:Bulgarian Serbia:Serbian/Serb Croatia:Croatian Ukraine:Ukrainian "
            "Belarus:Belarusian Latvia:Latvian Lithuania:Lithuanian Estonia:Estonian "
            "Kazakhstan:Kazakh/Kazakhstani Georgia:Georgian Iran:Iranian Iraq:Iraqi Israel:Israeli "
            "Egypt:Egyptian Syria:Syrian Lebanon:Lebanese Jordan:Jordanian India:Indian "
            "Pakistan:Pakistani Afghanistan:Afghan Bangladesh:Bangladeshi Korea:Korean "
            "Vietnam:Vietnamese Thailand:Thai Indonesia:Indonesian Malaysia:Malaysian "
            "Australia:Australian Canada:Canadian Mexico:Mexican Brazil:Brazilian "
            "Argentina:Argentine/Argentinian Chile:Chilean Peru:Peruvian Colombia:Colombian "
            "Cuba:Cuban Venezuela:Venezuelan Nigeria:Nigerian Kenya:Kenyan Ghana:Ghanaian "
            "Ethiopia:Ethiopian Algeria:Algerian Morocco:Moroccan Tunisia:Tunisian Libya:Libyan "
            "Sudan:Sudanese Somalia:Somali England:English Iceland:Icelandic Slovakia:Slovak "
            "Slovenia:Slovenian/Slovene Albania:Albanian Armenia:Armenian Cyprus:Cypriot"
        ).split()
    )
}
CITIES = tuple(
    "London Paris Berlin Madrid Rome Moscow Beijing Tokyo Vienna Warsaw Prague Athens Dublin "
    "Helsinki Oslo Stockholm Lisbon Budapest Brussels Amsterdam Cairo Delhi Mumbai Sydney Toronto "
    "Chicago Boston Seattle Houston Dallas Denver Atlanta Munich Hamburg Milan Barcelona "
    "Istanbul Kyiv Riga Vilnius Tallinn Minsk".split()
)
WOMEN = tuple(
    "Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty "
    "Sandra Margaret Ashley Kimberly Emily Donna Michelle Carol Amanda Melissa Deborah Stephanie "
    "Rebecca Laura Sharon Cynthia Kathleen Amy Angela Anna Emma Olivia Sophia Maria Julia Alice "
    "Helen Jane Kate Hillary Angela Theresa Diana Victoria Rachel Hannah Lucy Sophie Clara Eve "
    "Catherine Christine Claire Nicole Samantha Julie Joan Martha Megan Eva Irene Lena".split()
)
MEN = tuple(
    "James Robert John Michael David William Richard Joseph Thomas Charles Christopher Daniel "
    "Matthew Anthony Donald Steven Paul Andrew Joshua Kenneth Kevin Brian George Edward Ronald "
    "Timothy Jason Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott "
    "Brandon Benjamin Samuel Frank Gregory Raymond Alexander Patrick Jack Dennis Jerry Peter Henry "
    "Tom Bill Bob Jim Mike Steve Barack Vladimir Boris Oliver Harry Martin Simon Adam Philip "
    "Carl Ben Sam Tim Max Fred Ian Alan Bruce Albert Victor Walter Louis Arthur".split()
)
SURNAMES = tuple(
    "Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Moore Jackson Thompson "
    "Harris Clark Lewis Robinson Walker Young Allen Wright Hill Green Baker Nelson Carter Mitchell "
    "Roberts Turner Phillips Campbell Parker Evans Edwards Collins".split()
)
# The masculine and the feminine word of each pair; what stands behind "=" is a slot that several
# pairs share, for instance all pronouns.
GENDER = tuple(
    (pair.split("/")[0], pair.split("/")[1].split("=")[0], [*pair.split("="), pair][1])
    for pair in (
        "he/she=pronoun him/her=pronoun his/her=pronoun his/hers=pronoun "
        "himself/herself=pronoun mr/mrs=title mr/ms=title mr/miss=title sir/madam=title "
        "man/woman=adult men/women=adults gentleman/lady=adult gentlemen/ladies=adults "
        "guy/girl=adult boy/girl=child boys/girls=children father/mother=parent "
        "fathers/mothers=parents dad/mom=parent dad/mum=parent daddy/mommy=parent son/daughter "
        "sons/daughters brother/sister brothers/sisters husband/wife=spouse husbands/wives=spouses "
        "uncle/aunt uncles/aunts nephew/niece nephews/nieces grandfather/grandmother=grandparent "
        "grandpa/grandma=grandparent grandson/granddaughter king/queen kings/queens "
        "prince/princess princes/princesses actor/actress actors/actresses waiter/waitress "
        "boyfriend/girlfriend boyfriends/girlfriends widower/widow groom/bride "
        "businessman/businesswoman spokesman/spokeswoman=speaker chairman/chairwoman=chair "
        "policeman/policewoman policemen/policewomen salesman/saleswoman fireman/firewoman "
        "congressman/congresswoman sportsman/sportswoman duke/duchess hero/heroine host/hostess "
        "steward/stewardess heir/heiress landlord/landlady monk/nun schoolboy/schoolgirl "
        "stepfather/stepmother stepson/stepdaughter male/female males/females lad/lass "
        "rooster/hen bull/cow wizard/witch"
    ).split()
)
# Masculine forms that speak of anybody, or animals that nobody asks: no evidence by themselves.
WEAK_GENDER = frozenset("actor actors hero heroine host hen bull cow witch guy".split())
NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor without cannot cant dont doesnt didnt "
    "wont wouldnt shouldnt couldnt isnt arent wasnt werent hasnt havent hadnt".split()
)
# What looks like a negation and is none: words after which a negation stands, or with it.
NO_NEGATIONS = (
    "not only|not just|not merely|not simply|no doubt|no wonder|no matter|no less than|"
    "no fewer than|no later than|no more than|no sooner|not least|not to mention|nothing but|"
    "none other|nothing other than|no one other|whether or not|or not|not until|not unlike|not "
    "uncommon|not surprisingly|"
    "not surprising|why not|if not|without a doubt|without doubt|nothing less|not long|not far|"
    "not yet decided|no way but|no other|no one but|nobody but|not without|no problem|"
    "never mind|last but not least|nor|not for nothing|nothing more than|not all|not every|"
    "not everyone|not always|not necessarily|not nearly|not quite|not so much"
)
# Beside words that begin so a sentence may deny without a negation: it is not judged.
DENIALS = tuple(
    "fail refus deny deni reject unable impossib lack absen miss prevent forbid prohibit ban avoid "
    "stop cease quit neglect unlike insufficien rare seldom hardly barely scarcely except unless "
    "exclud doubt ignor disagree dislike hate unknown unclear uncertain contrary oppos incapab "
    "declin abandon depriv devoid instead rather lost lose beyond".split()
)
DENIAL_WORDS = frozenset(
    "before few little only until free too less ban bans minus but non".split()
)
# Verbs whose forms share no beginning: past and participle to the plain form.
IRREGULAR = {
    form: forms.split("/")[0]
    for forms in (
        "go/went/gone be/is/are/was/were/been/am have/has/had do/does/did/done say/said "
        "see/saw/seen come/came get/got/gotten give/gave/given take/took/taken make/made "
        "know/knew/known "
        "think/thought find/found tell/told become/became leave/left feel/felt bring/brought "
        "begin/began/begun keep/kept hold/held write/wrote/written stand/stood hear/heard "
        "mean/meant meet/met run/ran pay/paid sit/sat speak/spoke/spoken lie/lay/lain lead/led "
        "grow/grew/grown lose/lost fall/fell/fallen send/sent build/built understand/understood "
        "draw/drew/drawn break/broke/broken spend/spent rise/rose/risen drive/drove/driven "
        "buy/bought wear/wore/worn choose/chose/chosen eat/ate/eaten sleep/slept win/won "
        "teach/taught sell/sold catch/caught fight/fought fly/flew/flown forget/forgot/forgotten "
        "sing/sang/sung drink/drank/drunk swim/swam/swum throw/threw/thrown steal/stole/stolen "
        "shoot/shot hide/hid/hidden bite/bit/bitten ride/rode/ridden strike/struck seek/sought "
        "deal/dealt dig/dug feed/fed flee/fled hang/hung swear/swore wake/woke/woken "
        "child/children man/men woman/women person/people foot/feet good/better/best "
        "bad/worse/worst wife/wives life/lives"
    ).split()
    for form in forms.split("/")[1:]
}
AUXILIARIES = frozenset(
    "is are was were be been being am do does did have has had will would can could shall should "
    "may might must going able ever any really even also just still so very quite all yet always "
    "already often usually".split()
)
