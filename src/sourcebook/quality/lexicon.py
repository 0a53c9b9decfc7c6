"""The signals of authenticity: their weights, and the English words and phrases that show them.

A signal's `weight` is what it adds to the sum at most (below zero: takes away); `full` is the
number of hits in 100 words at which it does. Signals without phrases are found by form (figures,
names, identifiers): see `words` and `sic`. docs/quality.md gives the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence for or against a text being written by someone who knew something."""

    name: str
    weight: float
    full: float
    phrases: str = ""
    """One a line, lower case; words of a phrase stand side by side in the text."""


SPECIFIC = (
    Signal("number", 0.40, 6.0),
    Signal("unit", 0.30, 3.0),
    Signal("date", 0.35, 3.0),
    Signal("name", 0.35, 8.0),
    Signal("identifier", 0.40, 8.0),
    Signal("quotation", 0.25, 2.0),
    Signal(
        "first-hand",
        0.45,
        4.0,
        """
        i saw\ni heard\ni found\ni went\ni tried\ni asked\ni called\ni told\ni bought\ni built
        i met\ni noticed\ni measured\ni remember\ni learned\ni visited\ni spoke\ni wrote\ni took
        i got\ni made\ni started\ni was\ni had\ni've been\ni worked\ni lost\ni fixed\ni installed
        we saw\nwe found\nwe measured\nwe observed\nwe tested\nwe tried\nwe built\nwe used\nwe show
        we report\nwe went\nwe asked\nwe decided\nwe noticed\nwe identified\nwe compared\nwe chose
        we demonstrate\nwe examined\nwe investigated\nwe analyzed\nwe analysed\nwe performed
        we had\nwe were\nour team\nour data\nour results\nour findings\nmy\ni've\ni'm
        in my experience
        according to\nyesterday\nlast week\nlast night\nlast month\nlast year\nthis morning
        """,
    ),
    Signal(
        "cause",
        0.30,
        2.0,
        """
        because\nbecause of\ntherefore\nthus\nhence\nconsequently\nas a result\ndue to\nowing to
        so that\nled to\nleads to\nresulted in\nresults in\ncaused by\ncauses\nin response to
        which means\nthat is why\nfor this reason\nprevents\nif\nunless\nuntil\nprovided that
        """,
    ),
    Signal(
        "contrast",
        0.30,
        2.0,
        """
        however\nbut\nalthough\nthough\nwhereas\nunlike\ninstead\nexcept\ndespite\nin contrast
        rather than\nby contrast\nnevertheless\nnonetheless\nyet\non the other hand\nexcept that
        compared with\ncompared to\nhigher than\nlower than\nmore than\nless than\nfewer than
        not only\nnotwithstanding\nother than
        """,
    ),
    Signal(
        "concrete",
        0.25,
        4.0,
        """
        gate\ngates\ndoor\ndoors\nroof\nwall\nwalls\nfence\nfences\nwindow\nwindows\nfloor\nroom
        garage\nkitchen\nhouse\nhome\nhomes\nbuilding\nbuildings\nstreet\nroad\nbridge\nriver\ntree
        trees\ngarden\nbeach\nlake\nmountain\nforest\ncar\ncars\ntruck\ntrucks\nboat\nbus\ntrain
        bike\nplane\nengine\nwing\npump\nvalve\npipe\npipes\nwire\ncable\nbattery\nmotor\nscrew
        water\nfire\nsmoke\nsnow\nrain\nsteel\nwood\nglass\nstone\nconcrete\npaper\ncotton\ngold
        dog\ndogs\ncat\ncats\nhorse\nbird\nbirds\nfish\nmouse\nmice\nrats\ncow\npet\npets\ncell
        cells\nblood\nbone\nheart\nlung\nliver\nbrain\nskin\neye\neyes\nhand\nhands\ntooth\nbody
        patient\npatients\nchild\nchildren\nkids\nbaby\nwoman\nwomen\nman\nmen\nbread\nmilk\nrice
        apple\ncoffee\nmeat\nkey\nkeys\nknife\nphone\nletter\nletters\nbook\nbooks\nticket\ncheck
        invoice\nserver\nrouter\ndisk\nkeyboard\nscreen\nprinter\ncamera\ntable\nchair\nbed\nbox
        """,
    ),
)

EMPTY = (
    Signal(
        "machine phrase",
        -1.0,
        2.0,
        """
        it's important to note\nit is important to note\nit's worth noting\nit is worth noting
        it is worth mentioning\nit's worth mentioning\nit's essential to\nit is crucial to
        it's crucial to\nit is essential to\nit is important to remember\nas an ai
        as an ai language model\nas a language model\ndelve\ndelves\ndelving\ndive into\ndiving into
        let's dive in\nlet's explore\nlet us explore\ntapestry\na testament to\nin the realm of
        navigating the complexities\nnavigate the complexities\never-evolving\never-changing
        in today's world\nin today's fast-paced\nin today's digital\nfast-paced world
        in conclusion\nin summary\nto summarize\noverall it is clear\nplays a crucial role
        play a crucial role\nplays a vital role\nplays a pivotal role\nplays a significant role
        multifaceted\nmyriad\nplethora\nunderscores the importance\nhighlights the importance
        fostering\nembark on\nunlock the potential\nunleash\nharness the power\nnot just about
        i hope this helps\ni'd be happy to help\ni'm here to help\nhere's a breakdown
        here are some\nlet me know if you have any questions\nfeel free to ask
        when it comes to\nwhether you're\nthe key takeaway\nat its core\nserves as a reminder
        """,
    ),
    Signal(
        "marketing",
        -1.0,
        2.5,
        """
        world-class\nworld class\nbest-in-class\nbest in class\ncutting-edge\ncutting edge
        state-of-the-art solution\nstate-of-the-art solutions\ngame-changing\ngame changer
        game-changer\nrevolutionary\ngroundbreaking solution\nnext-generation solution
        next-level\nindustry-leading\nmarket-leading\nunparalleled\nunrivaled\nunmatched
        one-stop shop\none-stop\nturnkey\nturn-key solution\nseamless\nseamlessly\neffortless
        effortlessly\nempower\nempowers\nempowering\nleverage our\nsynergy\nsynergies\nholistic
        value-added\nadded value\nwin-win\nmission-critical solutions\nsolutions that\nour solutions
        transform your business\ntake your business\nto the next level\ndrive growth\ngrow your
        customer-centric\npassionate about\nwe are committed to\nwe pride ourselves
        trusted by\nleading provider\nleading provider of\ninnovative solutions\ninnovative solution
        amazing results\nincredible value\nlimited time\nlimited time offer\nact now\nbuy now
        don't miss\nmiss out\nsign up today\nget started today\ntry it free\nfree trial\norder now
        unlock your\nboost your\nsupercharge\nskyrocket\nmaximize your\nyour journey\nexperience the
        everything you need\nlike never before\nmust-have\nsatisfaction guaranteed\nthought leader
        thought leadership\nbest practices and\nrobust and scalable\nfuture-proof\nsecond to none
        """,
    ),
    Signal(
        "boilerplate",
        -1.2,
        2.0,
        """
        all rights reserved\nterms of service\nterms of use\nterms and conditions apply
        privacy policy\ncookie policy\nuse cookies\nuses cookies\naccept cookies\naccept all
        accept all cookies\ncookie settings\nmanage cookies\nmanage preferences\nbrowsing experience
        cookies to\nskip to content\nskip to main content\nback to top\nread more\nlearn more
        click here\nsubscribe\nsubscribe to our newsletter\nsign up for our newsletter\nnewsletter
        log in\nsign in\nsign up\nforgot password\nshare this\nshare on\nfollow us\nfollow us on
        tweet\nlike us on\nrelated articles\nrelated posts\nyou may also like\nleave a comment
        add to cart\nview all\nload more\nshow more\nprevious page\nnext page\npage not found
        enable javascript\nyour browser\nthis page intentionally left blank
        intentionally left blank\nintentionally omitted\npowered by\nlast updated\nsite map\nsitemap
        this email and any attachments\nif you have received this\nunsubscribe\nlorem ipsum
        contact us\nabout us\nprivacy notice\ncookie notice\nfor more information
        """,
    ),
    Signal(
        "politeness",
        -0.4,
        4.0,
        """
        thank you\nthank you for\nthanks\nthanks for\nthanks again\nyou're welcome\nmy pleasure
        i hope this email finds you well\nhope you are well\nhope you're well\nhope all is well
        best regards\nkind regards\nwarm regards\nregards\nsincerely\nhave a nice day\nhave a great
        have a good\nno problem\nno worries\nsounds good\nsounds great\nlooking forward to
        look forward to\nplease do not hesitate\nplease don't hesitate\nfeel free to\nglad to help
        happy to help\nof course\nsure thing\ngreat question\ngood question\ngood to see you
        nice to see you\ngood to hear\ngreat to hear\nglad to hear\ntake care\ncongrats
        congratulations\nwelcome to\nwe appreciate\nmuch appreciated\nlet me know\nlet us know
        keep in touch\nstay in touch\ntalk soon\nsee you soon\nhow are you\nhow have you been
        """,
    ),
    Signal(
        "intensifier",
        -0.3,
        6.0,
        """
        very\nreally\ntruly\nextremely\nincredibly\nabsolutely\ntotally\ncompletely\nutterly\nhugely
        so much\nso many\nsuper\namazing\nawesome\nfantastic\nincredible\nwonderful\ngreat\nperfect
        remarkable\nimpressive\nexciting\nextraordinary\noutstanding\nexceptional\nhighly important
        very important\nreally important\nextremely important\nbeautifully\nsimply
        """,
    ),
    Signal(
        "vague",
        -0.3,
        4.0,
        """
        things\nthing\nstuff\nsomething\nsomehow\nsomewhat\nvarious\na number of\na variety of
        a wide range of\na range of\nmany aspects\nvarious aspects\nand so on\nand so forth\netc
        and more\nand much more\nkind of\nsort of\nmany people\nsome people\nexperts say
        studies show\nresearch shows\nit is said\nit is believed\nit is known\nin many ways
        in some ways\nto some extent\nmany different\nall kinds of\nall sorts of\na lot of\nlots of
        as appropriate\nand others\nin general\nin various ways\naspects of
        """,
    ),
    Signal(
        "filler",
        -0.6,
        3.0,
        """
        basically\nactually\nliterally\nobviously\nneedless to say\nit goes without saying
        at the end of the day\nas you know\nas we all know\nas mentioned\nas mentioned above
        as mentioned before\nas previously mentioned\nas stated above\nin other words\nthat said
        that being said\nhaving said that\nthe fact that\nin fact\nas a matter of fact\nto be honest
        for all intents and purposes\nin the process of\nat this point in time\nat the present time
        in terms of\nwith regard to\nwith regards to\nfor the purpose of\nit should be noted
        it should be noted that\nit must be said\nit can be said\nwe can say that\nmore or less
        first and foremost\nlast but not least\nagain and again\nonce again\none way or another
        in one way or another\nwhen all is said and done\nas it were\nso to speak\nby and large
        for what it's worth\nall things considered\nin this regard\nin this respect\nas such
        this section describes\nthis document describes\nthis page describes\nthis chapter describes
        the following section\nin this section\nin this article\nin this document\nin this chapter
        """,
    ),
    Signal("hedges", -0.7, 2.0),
)

SIGNALS = MappingProxyType({signal.name: signal for signal in SPECIFIC + EMPTY})

HEDGES = frozenset(
    """may might could perhaps possibly potentially probably maybe presumably seemingly apparently
    arguably conceivably likely seem seems appear appears suggest suggests somewhat fairly rather
    relatively generally typically usually often sometimes tends tend""".split()
)
MONTHS = frozenset(
    """january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec""".split()
)
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
UNITS = frozenset(
    """percent percentage dollars dollar euros euro cents usd eur gbp kg g mg µg μg ug ng lb lbs oz
    km m cm mm µm μm nm mi miles mile feet foot ft inch inches in yards acres hectares sq square
    liters litres liter litre l ml µl μl gallons seconds second sec s ms minutes minute min hours
    hour h days day weeks week wk months month years year yr hz khz mhz ghz w kw mw kwh v kv ma a
    ohm ohms pa kpa mpa bar psi k °c °f °  c degrees mb gb tb kb bytes bits fps rpm mph kph mol mm
    mmol µm nmol m2 m3 patients participants people children women men cases times fold pages words
    units lots votes million billion thousand trillion pm am p.m a.m""".split()
)
REFERENCE_WORDS = frozenset(
    """section sections sec chapter chapters appendix article articles figure figures fig table
    tables exhibit exhibits page pages p pp part parts paragraph clause annex schedule note
    footnote line lines step item no number nr version v volume vol see chap eq equation slide
    attachment § ref level title""".split()
)
VERBS = frozenset(
    """is are was were be am been has have had will would shall should must may might can could
    cannot do does did don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't
    shouldn't wouldn't i'm you're we're they're he's she's it's that's there's what's i've we've
    you've they've i'll you'll we'll he'll she'll they'll it'll let's says said gets got goes went
    makes made takes took gives gave knows knew thinks sees saw comes came wants tells
    told""".split()
)
"""Verbs that are seldom anything else: a fragment has none of them."""

GENERIC = frozenset(
    """section sections chapter document documents page article following above below overview
    introduction summary conclusion background content contents information detail details
    description example examples describe describes described explain explains discuss discusses
    cover covers contain contains provide provides apply applies applied see refer note notes
    thing things stuff way ways lot lots kind sort bit case cases part parts point points time
    times people everyone everybody someone something anything nothing everything one ones
    good great nice cool awesome amazing wonderful fantastic interesting important useful fine
    okay ok yes no yeah yep nope sure right true well wow hey hi hello bye goodbye oh ah hmm haha
    aww omg ouch yay ugh fun super lol thanks thank please sorry welcome congrats
    congratulations glad happy sad love like hope think know feel guess mean want need get got go
    going come came make made take took keep let say said tell look looks looking sound sounds seem
    seems try talk really very so too much many
    always never ever still again also just maybe today now later soon new next last first second
    done best better same different big small little idea topic subject matter issue process
    general various several blank empty omitted intentionally reserved here there back yet even
    i'm you're we're they're he's she's it's that's there's what's i've we've you've they've i'll
    you'll we'll he'll she'll it'll let's don't doesn't didn't isn't can't won't i'd you'd
    definitely absolutely totally exactly agree proud day catch chat update question
    answer""".split()
)
"""Words that say nothing on their own: a short sentence made of them alone has no substance."""

ENGLISH = frozenset(
    """the of and to that is for with are this by from which have has been were their be it as at
    or not but they his she you we its can would should shall our your than these those there my
    what how when who i'm it's don't any such other into if about where
    then them after before because while through did had""".split()
)
"""Function words that are rare in other languages: their share tells English."""
